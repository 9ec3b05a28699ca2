// Package regent elects leaders: of all programs that want to lead a group, at most one does, at every instant. It needs
// no database and no broker. The programs themselves are the council that elects; they talk over UDP, and a leader that
// dies is replaced within its lease, which may be as short as some tens of milliseconds.
//
// There are weaker promises, for those who need an answer even when the network is cut: a leader in every part of it
// ([LocalGroup]), or one on which all agree in the end ([EventualGroup]); and one for those who take over from one another,
// and must agree on who failed first ([ConsistentGroup]). They are different types, so that none is mistaken for another.
//
// # Join a council
//
// A council is a fixed list of members, of which a majority must be up: three of them survive the loss of one, five of
// two. Each member is a process with a name, an address, and a directory for a few bytes that must survive its restart.
//
//	m, err := regent.Join(ctx, regent.Config{
//		Name:        "a",
//		Council:     peers, // the same list everywhere
//		Key:         key,   // a shared secret
//		OwnKeys:     own,   // of this member alone; Config.ReadKeys reads it, and the public keys of the others
//		Dir:         "/var/lib/billing/regent",
//		Bootstrap:   true,
//	})
//	if err != nil {
//		return err // says what is wrong, or what the member was waiting for
//	}
//	defer m.Leave(context.Background())
//
// # Lead
//
// Any name is a group. [Group.Lead] calls a function whenever this program leads it, until the context ends, and then returns nil:
//
//	g, err := m.Group("billing")
//	...
//	err = g.Lead(ctx, func(ctx context.Context, l *regent.Lease) error {
//		for {
//			select {
//			case job := <-jobs:
//				run(ctx, job, l)
//			case <-ctx.Done():
//				return nil // lost, or asked to stop; Lead campaigns again
//			}
//		}
//	})
//
// The function's context ends a guard time before the lease does. Nobody else leads until the function has returned or
// the lease has run out; the lease is renewed in the background, also while the function is being asked to stop. What
// else there is to know about a leadership, the [Lease] says: whether it is valid now, until when, for how much longer.
// [Group.Campaign] gives a lease to programs that want to steer the course of things themselves.
//
// # Stamp what you do
//
// A lease protects against everything but a pause at the wrong moment: a program may look at its lease, be stopped by
// its hypervisor for a minute, and then write. Therefore every leadership has a token, a number that grows, and every
// order can be stamped:
//
//	stamp, err := l.Edict(ctx) // fails once the lease is over
//	_, err = db.ExecContext(ctx, `update job set state = $1, fence = $2 where id = $3 and fence <= $2`,
//		"done", stamp.Token(), id)
//
// A receiver that refuses what is older than what it has seen cannot be written to by a leader of the past. Package
// fence is such a receiver, in memory, for SQL and for HTTP.
//
// # Watch
//
// Watch yields every change of leader, "no leader" among them, as a [View] with its [Cause]; View returns the present one, as
// far as this member knows; [Group.Verify] asks the leader itself, and returns a [Proof].
//
//	for v, err := range g.Watch(ctx) {
//		if err != nil {
//			return err // the member was closed
//		}
//		log.Print(v) // billing: a leads with token 7 (elected a)
//	}
//
// # Find the leader
//
// A leader may announce a value, such as its address. Every member shows it in [View.Value].
//
//	err = g.Announcing("http://10.0.0.1:8080/").Lead(ctx, serve)
//
// A client of the leader finds it with [Group.Call], which tries again until a member has answered that is proven to have led all the while.
//
//	err = g.Call(ctx, func(ctx context.Context, leader *regent.Proof) error {
//		return post(ctx, leader.Value, order)
//	})
//
// # Choose a promise
//
// A [Group] has at most one leader anywhere, and none where there is no majority. That is what most programs need.
//
// A [LocalGroup] has one leader in every part of the network that holds together, however small. Each knows exactly which
// members support it, and no member supports two. What is on the other side of a cut it cannot know; there is no token.
//
//	g, err := m.LocalGroup("cache")
//	...
//	err = g.Lead(ctx, func(ctx context.Context, l *regent.LocalLease) error {
//		members, err := l.Support(ctx)
//		...
//		return warm(ctx, members) // for these, and no others
//	})
//
// [Group.Local] offers such a leader beside a quorum group, to members that know of no real one, for as long as they do not.
//
// An [EventualGroup] has no lease at all: its view names the member that this one trusts. All members come to trust the same one,
// which then stays, without votes and even when most members are down.
//
//	g, err := m.EventualGroup("compaction", elector.Stable)
//	...
//	if v, err := g.View(ctx); err == nil && v.Mine { ... } // twice is wasteful, but not wrong
//
// A [ConsistentGroup] agrees on exactly who failed before anybody acts on it: one member, the fault manager, then recovers what
// was lost, and nobody else does. [Config.Consistent] must be set.
//
//	g, err := m.ConsistentGroup("shards")
//	...
//	err = g.TakePart(ctx, func(ctx context.Context, l *regent.Membership) error {
//		for v := range l.Views(ctx) {
//			if v.Agreement.Recover {
//				takeOver(v) // what belongs to nobody in v.Agreement.Members
//				l.Recovered(ctx, v)
//			}
//		}
//		return nil
//	})
//
// Package elector says what there is to choose from. [Config.Elector] chooses who tries first under quorum groups.
//
// # Who may lead
//
// Members with a higher [Peer.Priority] go first when nobody leads, and with [Config.Prefer] they are given the group after a
// while. A [Peer.Witness] votes and never leads, a [Peer.Observer] only watches. A member that is not well
// ([Config.Health], [Member.SetHealth]) gives up what it leads and goes on voting.
//
// # Let the host's agent be the member
//
// Not every program must be a member: twenty replicas of a service on one host are better served by one member, the agent
// (regent agent). [Dial] connects to it, and its groups and leases are used like those of a member.
//
//	c, err := regent.Dial(ctx, "/run/regent/regent.sock")
//	...
//	g, err := c.Group("billing")
//	...
//	err = g.Lead(ctx, f)
//
// # Time
//
// All promises are about lengths of time, measured by clocks that run at the right rate within [Timing.Drift]. The time of
// day does not matter. A member reads a clock of its own, which goes on while the machine is suspended
// and is not adjusted by time services. A virtual machine that is paused by its host loses that time without noticing;
// there only the token protects. [Fast], [LAN] and [WAN] set all constants; [Timing] explains them.
//
// # When things go wrong
//
// A member logs what an operator should know through log/slog, each thing once; [Member.Status], [Member.Members],
// [Member.History] and [Member.Metrics] say how it is, who it hears, what changed lately and why, and everything that is
// worth a graph. Packets that are not sealed with the council's key, that come from a member with another configuration
// or from a second process under one name, are dropped, counted, and named.
//
// A process whose own goroutines keep all processors busy can delay its member, by some tens of milliseconds: the member has
// a thread of its own, but that thread, too, needs one of Go's processors to run, and waits if all of them are with
// threads that the kernel has put aside. Leave it some, at the beginning of main:
//
//	runtime.GOMAXPROCS(runtime.NumCPU() + 2)
//
// Or let an agent be the member, which does so itself.
package regent
