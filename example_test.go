package regent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/elector"
	"github.com/regentproject/regent/fence"
	"github.com/regentproject/regent/why"
)

// solo is a council of one, on a port that is free: enough to show how things are called.
func solo() (*regent.Member, error) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := c.LocalAddr().String()
	c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return regent.Join(ctx, regent.Config{
		Name:      "a",
		CouncilID: "6f1d2c3b4a59687786958493a2b1c0df", // it has no Dir to keep one in
		Council:   []regent.Peer{{Name: "a", Addrs: []string{addr}}},
		Bootstrap: true,
		Timing:    brief(),
		Logger:    slog.New(slog.DiscardHandler),
	})
}

// brief is the timing of members without Dir that are not to wait for long when they start.
func brief() regent.Timing {
	t := regent.LAN
	t.LongestLease = t.Lease
	return t
}

// A program that leads until it is done. In a real council the list has three or five members, on as many hosts, and
// Key and Dir are set.
func Example() {
	ctx := context.Background()
	m, err := regent.Join(ctx, regent.Config{
		Name:      "a",
		CouncilID: "6f1d2c3b4a59687786958493a2b1c0df", // it has no Dir to keep one in
		Council:   []regent.Peer{{Name: "a", Addrs: []string{"127.0.0.1:7499"}}},
		Bootstrap: true,
		Timing:    brief(),
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Leave(ctx)

	g, err := m.Group("billing")
	if err != nil {
		fmt.Println(err)
		return
	}
	err = g.Lead(ctx, func(ctx context.Context, l *regent.Lease) error {
		fmt.Println("leading", l.Group(), "with token", l.Token())
		return nil // done: the group is given up, and Lead returns
	})
	fmt.Println(err)
	// Output:
	// leading billing with token 1
	// <nil>
}

// The leading function stops when its context ends, and another may lead from then on.
func ExampleGroup_Lead() {
	m, err := solo()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Leave(context.Background())

	g, err := m.Group("billing")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	err = g.Lead(ctx, func(ctx context.Context, l *regent.Lease) error {
		stop() // the program is being shut down
		<-ctx.Done()
		fmt.Println("stopping, still in possession of the lease:", l.Valid())
		return nil
	})
	fmt.Println(err)
	// Output:
	// stopping, still in possession of the lease: true
	// <nil>
}

// A lease renews itself until the program resigns.
func ExampleGroup_Campaign() {
	m, err := solo()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Leave(context.Background())

	ctx := context.Background()
	g, err := m.Group("billing")
	if err != nil {
		fmt.Println(err)
		return
	}
	lease, err := g.Campaign(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("valid:", lease.Valid(), lease.Remaining() > 0)
	fmt.Println("resigned:", lease.Resign(ctx))
	fmt.Println("valid:", lease.Valid(), lease.Remaining() > 0)
	_, err = lease.Edict(ctx)
	fmt.Println(err)
	// Output:
	// valid: true true
	// resigned: <nil>
	// valid: false false
	// not the leader: the lease is over
}

// Orders bear stamps, and whoever carries them out refuses what is too old.
func ExampleLease_Edict() {
	m, err := solo()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Leave(context.Background())

	var printer fence.Gate // what the orders go to
	ctx := context.Background()
	g, err := m.Group("billing")
	if err != nil {
		fmt.Println(err)
		return
	}
	order := func() regent.Edict {
		l, err := g.Campaign(ctx)
		if err != nil {
			fmt.Println(err)
			return regent.Edict{}
		}
		defer l.Resign(ctx)
		e, err := l.Edict(ctx)
		if err != nil {
			fmt.Println(err)
		}
		return e
	}
	early, late := order(), order() // of two leaderships
	fmt.Println(late.Token() > early.Token())
	fmt.Println(printer.Admit(late))
	var stale *fence.StaleError
	fmt.Println(errors.As(printer.Admit(early), &stale))
	// Output:
	// true
	// <nil>
	// true
}

// Watch begins with the present view.
func ExampleGroup_Watch() {
	m, err := solo()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Leave(context.Background())

	g, err := m.Group("billing")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for v, err := range g.Watch(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(v)
		switch {
		case v.Cause.Why == why.Started:
			go g.Lead(ctx, func(ctx context.Context, l *regent.Lease) error { return l.Resign(ctx) })
		case v.Leader == "":
			return
		}
	}
	// Output:
	// billing: no leader (started)
	// billing: a leads with token 1 (elected a)
	// billing: a leads with token 1 (resigned a)
	// billing: no leader (resigned a)
}

// A proof comes from the leader itself.
func ExampleGroup_Verify() {
	m, err := solo()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Leave(context.Background())

	ctx := context.Background()
	g, err := m.Group("billing")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = g.Verify(ctx)
	fmt.Println(errors.Is(err, regent.ErrNoLeader))
	l, err := g.Campaign(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Resign(ctx)
	proof, err := g.Verify(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(proof.Leader, proof.Token, proof.Valid())
	// Output:
	// true
	// a 1 true
}

// A set of constants that cannot work is refused with the inequality that it breaks.
func ExampleTiming() {
	t := regent.LAN
	t.Guard = 150 * time.Millisecond
	_, err := regent.Join(context.Background(), regent.Config{
		Name:      "a",
		CouncilID: "6f1d2c3b4a59687786958493a2b1c0df", // it has no Dir to keep one in
		Council:   []regent.Peer{{Name: "a", Addrs: []string{"127.0.0.1:7499"}}},
		Timing:    t,
	})
	fmt.Println(err)
	// Output:
	// config: guard 150ms: must not be negative, and at most 129.78ms: the lease 200ms, of which a leader can use 199.8ms, less the renewal interval 50ms and the round trip 20ms
}

// A local leader knows who supports it. Here it is alone.
func ExampleLocalGroup() {
	m, err := solo()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Leave(context.Background())

	g, err := m.LocalGroup("cache")
	if err != nil {
		fmt.Println(err)
		return
	}
	err = g.Lead(context.Background(), func(ctx context.Context, l *regent.LocalLease) error {
		members, err := l.Support(ctx)
		fmt.Println("leading", members, err)
		fmt.Println(g.View(ctx))
		return nil
	})
	fmt.Println(err)
	// Output:
	// leading [a] <nil>
	// cache: a leads a locally (elected a) <nil>
	// <nil>
}

// While a group has no leader, a part of the council that hears itself can have a local one.
func ExampleGroup_Local() {
	m, err := solo()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Leave(context.Background())

	ctx := context.Background()
	g, err := m.Group("billing")
	if err != nil {
		fmt.Println(err)
		return
	}
	local, err := g.Local()
	if err != nil {
		fmt.Println(err)
		return
	}
	stopgap, err := local.Campaign(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	members, err := stopgap.Support(ctx)
	fmt.Println("locally:", members, err)
	lease, err := g.Campaign(ctx) // the real one
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lease.Resign(ctx)
	<-stopgap.Done()
	fmt.Println("the local leader stops:", stopgap.Cause())
	_ = stopgap.Resign(ctx)
	// Output:
	// locally: [a] <nil>
	// the local leader stops: elected a
}

// An eventual group only says whom to trust.
func ExampleMember_EventualGroup() {
	m, err := solo()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Leave(context.Background())

	g, err := m.EventualGroup("compaction", elector.Stable)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	for v, err := range g.Watch(context.Background()) {
		if err != nil || v.Leader != "" {
			fmt.Println(v.Leader, v.Mine)
			break
		}
	}
	// Output:
	// a true
}

// A member that is not well leads nothing.
func ExampleMember_SetHealth() {
	m, err := solo()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Leave(context.Background())

	ctx := context.Background()
	g, err := m.Group("billing")
	if err != nil {
		fmt.Println(err)
		return
	}
	lease, err := g.Campaign(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	m.SetHealth(errors.New("the database cannot be reached"))
	<-lease.Done()
	fmt.Println(lease.Cause().Why == why.Unhealthy)
	_ = lease.Resign(ctx)
	// Output:
	// true
}

// All members agree on who is in a consistent group before its manager recovers what was lost.
func ExampleConsistentGroup() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m, err := regent.Join(ctx, regent.Config{
		Name:       "a",
		CouncilID:  "6f1d2c3b4a59687786958493a2b1c0df", // it has no Dir to keep one in
		Council:    []regent.Peer{{Name: "a", Addrs: []string{"127.0.0.1:7498"}}},
		Bootstrap:  true,
		Timing:     brief(),
		Consistent: true,
		Logger:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Leave(context.Background())

	g, err := m.ConsistentGroup("shards")
	if err != nil {
		fmt.Println(err)
		return
	}
	err = g.TakePart(ctx, func(ctx context.Context, l *regent.Membership) error {
		for v := range l.Views(ctx) {
			fmt.Println(v)
			if v.Agreement.Recover { // this member is the manager: take over what belongs to nobody in v.Agreement.Members
				return l.Recovered(ctx, v)
			}
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// shards: a, managed by a; joined: a (all agree a)
	// <nil>
}
