// Package order carries orders of operators from one member to another. The receiver executes each at most once.
//
// The receiver decides that, alone: it gives out a ticket for an order that is to come, and executes an order only with a ticket of
// its own that was not used. A ticket is worth something to one sender for a few seconds, at the machine that gave it out. So an order
// that comes late, twice, or after a restart of either side is not executed again, whatever clocks and networks do.
//
//	sender                      receiver
//	Ask{ID}            ──────►  gives out a ticket, once for each sender and ID
//	                   ◄──────  Ticket{ID, Number}
//	Do{Number, Body}   ──────►  uses the ticket up, and has the order executed
//	                   ◄──────  Told{Number, Running}
//	Do{Number}         ──────►  executes nothing: asks what became of it
//	                   ◄──────  Told{Number, Done, Body}
//
// A sender repeats what is not answered. It sends an order with one ticket only, the first that it gets. So what it reports is true:
//
//	Answered   the receiver executed the order, and this is its answer
//	NotTaken   the receiver has not executed the order, and never will: it gave out no ticket, or the ticket ran out unused
//	Unknown    the receiver may have executed it: it fell silent or restarted after the order was sent
//
// A member that knows nothing of orders, such as one of an earlier build, is silent. That is NotTaken, too.
//
//	message.go   what travels
//	sender.go    orders of this member
//	receiver.go  orders of others
//	machine.go   the machine of both
package order
