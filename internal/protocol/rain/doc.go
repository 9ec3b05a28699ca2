// Package rain elects a fault manager only once all members agree on exactly who failed (Franceschetti and Bruck), and
// readmits members that were lost. Each agreement yields a view: the members, those lost and those admitted since the view
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
//	                   members that come and go          adopt.go
//	                   a council that is given up        heir.go
//	                   over links and an authority       machine.go
//
// # How it is driven
//
// A [Machine] stands over the council's authority (package nerio, or stack with nerio in it) and owns the links. It takes
// every event. Events of groups that Config.Owns are its own; it passes all others on. For the program of a consistent group:
//
//	Campaign{g}   takes part: the member waits for admission; in vain if the view that follows has the cause TooMany
//	Resign{g}     takes part no more
//	View out      Domain Consistent. Agreed != nil: the member is one of Support, Leader is the manager, Term and Agreed.Vid are the
//	              number. The program may act for the group while the clock is below the view's Horizon, as under a lease.
//	              Agreed.Recover: this member is the manager; recover Failed and Unfinished, admit Joined, then send Recover{g} with
//	              the number. The same number is published again when only Agreed.Stalled or Agreed.Recover has changed.
//	              Stop: the member stays until the program has stopped; send Stopped{g} when it has. It then takes part no more.
//	              Agreed == nil: the member is dead. Stop: the program must stop; send Stopped{g} when it has. It then joins again
//	              by itself.
//	Recover{g}    what was lost by the view with that number is recovered: only now is the next change decided, unless the manager
//	              dies. Then the next view has Unfinished. A Recover for another view than the present one has no effect.
//	Stopped{g}    the program has stopped. Without a request to stop: it takes part no more.
//	Close, Health  the member is leaving, or is unhealthy: its programs are asked to stop, and then it is out. A member that is healthy
//	              again, and takes part, waits for admission.
//	Begin{g}      without a gate: an operator lets the dead members that this one sees begin
//
// # Members come and go
//
// With Config.Council the machine asks after every Step of the authority which configuration is in force, and adopts it in the same
// Step. The owner passes the machine of package members as Council, and Machine.Carried as Carried of package members. Nothing else
// is needed: commands that come before the member has a seat are kept, and a member that is to leave is taken out of its groups in
// good order. Numbers are those of configurations. Majorities of neighbouring numbers meet, others need not.
//
// Views stand. A view means the members that had its seats in the configuration in which it was decided (View.Epoch): a seat that is
// empty, or that was given to another member since (council.Member.Since), counts as lost. A newcomer is not of a view that was
// decided before it came.
//
// What is named is a rank in a configuration: those that failed had their ranks in the view's Before, and those that were not recovered are
// listed by number (protocol.Loss). One seat can stand for two losses. A program gets a view once its member has adopted the view's
// configuration, and so knows all names; council.Config.Former has those of members that left.
//
// What counts is of one configuration: the acknowledgements by which a view is reported, the answers of a reading, and the word of a
// quorum that a member may go on. A member that adopts begins all three anew, and sends Ask to all. A peer that was ahead or behind
// repeats then what did not count.
//
// A reading is done when those that answered in the reader's number have a majority of the voters, and those of them that have
// forgotten nothing have a member in every majority of the voters, and either one of these has settled, or they have a member in
// every majority of the voters of the number before; or when all members have answered. Each part is needed:
//
//	a majority answers    abcd, then abc. {a b} report a view in abc. c and d, which are behind, meet every majority of abcd: they
//	                      would miss it. A member never goes back (C-MONO), so a majority that is still behind proves that there
//	                      is no such view. The lease of the reader does not: its votes may be older than the view.
//	every majority        a view that {a b} of abc reported, of which b forgot all, is known to a alone.
//	settled, or before    abc, then abcd. {a b} have reported in abc, and c and d have a majority's worth of votes against it.
//
// It does not suffice that those that know contain a majority, as a first version of the rule had it, which asks too much: in a
// council of four of which two have lost their disks no reading would ever end. That they meet every majority does not suffice either.
//
// A member settles only when it knows every view that was reported before (Carried): one of those that answer it has settled, or
// they have a member in every majority of the voters before, or all have answered. An answer comes after all views of its sender.
// A view that was reported in the number before was acknowledged there, so its acknowledgers had it before they adopted. A view of
// two numbers before is known to the majority that chose the present number: each of them had settled in the number between.
//
// A member that has no vote settles only when it counts as one that has forgotten nothing, too. A newcomer gets no vote before it has
// settled. Otherwise newcomers could become a majority of the voters before any of them knows, and then none of them ever would.
//
// A member that has lost its disk asks the same. It may count as one that has forgotten nothing once those that answer have a member
// in every majority without it, in its number and, unless one of them has settled, in the one before. It asks no earlier than Tin and
// Tout after its start: until then a manager may count what it acknowledged in its life before. A manager drops the acknowledgement
// of a peer when it finds its link broken.
//
// # Where this differs from the texts
//
// The rules are level-triggered: after every event they judge the present state (E-R4). Only members that are present count,
// never dead ones (E-R2). A candidate awaits confirmations from the members that it asked (E-R1). A member erases its memory
// of a link that went down (E-R7) and of what was cancelled (E-R5), and an attempt has a number (E-R6). A dead member judges
// by the view of the member that asks it (E-R3).
//
// Simultaneous agreement is not atomic: a member may have changed its mind, and its cancel be on the way (E-R6). So a
// decision counts only as an edict under a lease of the authority, and only once a quorum has it on disk; views are ordered
// by (token, vid) (E-R8).
//
// In PROTOCOLS §6.3 a member takes part while its links last. Then it and its successor can act at one instant, because
// nothing determines which of them notices first. Here a member needs leave to go on: the confirmation of a quorum, not older
// than Config.Stay, that it is in their view. The manager waits as long before it reports a view from which a member is
// missing.
//
// In §6.5 the lower-ranked end of a broken link leaves, by its own decision. Then a better-ranked member that loses its links
// one by one, slower than Config.Evict, drives all others out, against Theorem 3.1. Here broken links count against both ends
// until they work again, across views. One end of each has to leave: the one among the fewest members that explain all broken
// links. Members that are no end of the link decide that, as they decide a loss (form Omega only). To count the broken links
// of each end alone is not enough. If a loses its links to e and f, and b those to d and e, then e has lost as many as a and
// b, and would leave with f and d: three for two. For the same theorem a member is cut off only if it has too few others
// together with those that wait for admission, and a view counts once a quorum has it, these included. Two members that
// return without a link to each other are not admitted at once. All this holds while fewer than half of the members fail in
// that way. If more do, nothing distinguishes the healthy end of a broken link.
//
// Three further rules are not in §6.3. A member that is linked but has reported that it died counts as lost: if its links
// were back before all had noticed, no member would ever remove it. A return that not all confirm does not block a loss that
// all confirm: otherwise one bad link of a process that is not even a member would keep the others from recovering. Members
// of which none may manage die when one that may is dead and waits: they could not admit it, and it does not begin anew while
// it sees them alive.
package rain
