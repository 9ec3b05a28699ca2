// Package rain elects a fault manager only once all members agree on exactly who failed (Franceschetti and Bruck), and takes
// members that were lost back in. Around each agreement there is a view: who is a member, who was lost and who was taken in since the view
// before it, and the manager that recovers what was lost.
//
//	RAIN §3.2–3.4      candidacy, confirmation, cancel   topic.go, evaluate.go (the rules, in their order)
//	RAIN Fig. 3        states of links and nodes         evaluate.go (facts peer and node)
//	RAIN §3.1          Γ, without failures               gamma.go
//	PROTOCOLS §6.3     dead, joining, installing         group.go
//	                   the lease, reading, reporting     decide.go
//	                   leave to go on                    stay.go
//	                   who leaves for a broken link      evict.go
//	                   views, their order, the record    view.go
//	                   what travels                      message.go
//	                   over links and an authority       machine.go
//
// # How it is driven
//
// A [Machine] stands over the council's authority (package nerio, or stack with nerio in it) and owns the links. It takes every event;
// those of groups that Config.Owns are its own, all others it passes on. For the program of a consistent group:
//
//	Campaign{g}   takes part: the member waits to be taken in; in vain if the view that follows has the cause TooMany
//	Resign{g}     takes part no more
//	View out      Domain Consistent. Agreed != nil: the member is one of Support, Leader is the manager, Term and Agreed.Vid are the
//	              number. The program may act for the group while the clock is below the view's Horizon, as under a lease.
//	              Agreed.Recover: this member is the manager; recover Failed and Unfinished, admit Joined, then say Recover{g} with
//	              the number. The same number is published again when only Agreed.Stalled or Agreed.Recover has changed.
//	              Stop: the member stays until the program has stopped; say Stopped{g} when it has. It then takes part no more.
//	              Agreed == nil: the member is dead. Stop: the program must stop; say Stopped{g} when it has. It then joins again
//	              by itself.
//	Recover{g}    what was lost by the view with that number is recovered: only now is the next change decided, unless the manager
//	              dies. Then the next view has Unfinished. What is said of another view than the present one counts for nothing.
//	Stopped{g}    the program has stopped. Without having been asked to: it takes part no more.
//	Close, Health  the member is leaving, or is not well: its programs are asked to stop, and then it is out. A member that is well
//	              again, and takes part, waits to be taken in.
//	Begin{g}      without a gate: an operator lets the dead members that this one sees begin
//
// # Where this differs from the texts
//
// The rules are level-triggered: whatever the event was, what is so now is judged by them (E-R4), and what is counted are members that are
// present, never dead ones (E-R2). Confirmations are awaited from those who were asked (E-R1). Erased are memories of a link that went down
// (E-R7) and of what was cancelled (E-R5), and an attempt has a number (E-R6). A dead member judges by the view of who asks it (E-R3).
//
// All agreeing at once is not an atomic thing: somebody may have changed its mind, and its cancel be on the way (E-R6). So a decision counts
// only as an edict under a lease of the authority, and only once a quorum has it on disk; views are ordered by (token, vid) (E-R8).
//
// PROTOCOLS §6.3 has a member take part while its links last. Then it and who takes over from it can act at one instant, for nothing says
// which of them notices first. Here a member needs leave to go on: a quorum's word, not older than Config.Stay, that it is of their
// view. The manager waits as long before programs are told of a view that somebody is missing from.
//
// §6.5 has the lower-ranked end of a broken link leave, by its own decision. Then a better-ranked member that loses its links one by one,
// slower than Config.Evict, drives all others out, against Theorem 3.1. Here broken links count against both ends until they work again, across
// views. One end of each has to leave: the one among the fewest members that explain all broken links. Members that are no end of the link
// decide that, as they decide a loss (form Omega only). To count the broken links of each end alone is not enough. If a loses its links to e and f, and b
// those to d and e, then e has lost as many as a and b, and would leave with f and d: three for two. For the same theorem a
// member is cut off only if it has too few others together with those that wait to be taken in, and a view counts once a quorum has it, these among
// them. Two members that return without a link to each other are not taken in at once. All this holds while fewer than half of
// the members fail in that way. If more do, nothing tells which end of a broken link is well.
//
// Three further rules are not in §6.3. A member that is linked but has said that it died counts as lost: if its links were back before all
// had noticed, nobody would ever remove it. A return that is not confirmed by all does not hold up a loss that is: otherwise one
// bad link of somebody who is not even a member would keep the others from recovering. And members of which none may manage die when one
// that may is dead and waits: they could not take it in, and it does not begin anew while it sees them alive.
package rain
