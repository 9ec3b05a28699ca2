package members

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/protocol/lease"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/protocol/record"
)

const ms = time.Millisecond

func first(voters string) *council.Config {
	c := &council.Config{Terms: council.Terms{Longest: 250 * ms, Rho: protocol.DefaultRho}}
	for _, r := range voters {
		c.Members = append(c.Members, council.Member{Seat: protocol.Rank(r - 'a'), Name: string(r), Birth: council.Birth{byte(r)}, Role: council.Leader})
	}
	return c
}

func config(name string, c *council.Config, bootstrap bool) Config {
	return Config{
		Council: council.Options{Name: name, First: c, Peers: protocol.Everyone(3), RoundTrip: 20 * ms, Renew: 50 * ms, Dead: time.Second, Quiet: time.Second, Patience: time.Second},
		Leases: func(*council.Config) nerio.Config {
			return nerio.Config{Quorums: protocol.Majority(3), RoundTrip: 20 * ms, Lease: 200 * ms, Renew: 50 * ms, Bootstrap: bootstrap, FirstInc: 10}
		},
	}
}

// alone returns a council of one that has begun, and its record.
func alone(t *testing.T) (*drivetest.Stepper, *Machine, []byte) {
	t.Helper()
	m, err := New(config("a", first("a"), true), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	x := &drivetest.Stepper{Machine: m, Now: 1e9}
	x.Step(protocol.Start{})
	var rec []byte
	for range 5 {
		if len(x.Last.Persist) > 0 {
			rec = append([]byte{}, x.Last.Persist...)
			x.Step(protocol.Persisted{})
			continue
		}
		x.Tick(x.Now.Add(ms))
	}
	if m.Incarnation() == 0 || !m.council.Settled() || rec == nil {
		t.Fatalf("incarnation %d, settled %v", m.Incarnation(), m.council.Settled())
	}
	return x, m, rec
}

func TestRecordOfTheFirstStartHasTheConfiguration(t *testing.T) {
	_, _, rec := alone(t)
	r, err := record.Decode(rec)
	if err != nil {
		t.Fatal(err)
	}
	c, err := council.DecodeRecord(r.Wedge)
	if err != nil || c.Conf.Number != 0 || !c.Settled {
		t.Errorf("%+v, %v", c, err)
	}
}

// next returns a configuration after the first, in which b observes.
func next(c *council.Config) *council.Config {
	n := *c
	n.Number, n.Before = c.Number+1, c.Voters()
	n.Members = append(append([]council.Member{}, c.Members...), council.Member{Seat: 1, Since: n.Number, Name: "b", Birth: council.Birth{'b'}})
	return &n
}

// D oldok, D volconf: a voter judges no request while a configuration is on its way to the disk, and none of another number ever.
func TestRequestsAreJudgedInTheOwnConfiguration(t *testing.T) {
	x, m, _ := alone(t)
	ask := func(epoch uint64) bool {
		x.Receive(protocol.Ident{Rank: 0, Inc: m.Incarnation()}, &lease.Request{Epoch: epoch, Seq: uint64(x.Now), Delta: 200 * ms}, protocol.Unknown)
		x.Now++
		return len(x.Sent("lease.OK")) > 0
	}
	if !ask(0) {
		t.Fatal("a request of the own number is not granted")
	}
	if ask(1) {
		t.Error("D oldok: a request of a later configuration is granted")
	}
	x.Receive(protocol.Ident{Rank: 0, Inc: m.Incarnation()}, &council.Chosen{Conf: next(first("a"))}, protocol.Unknown)
	if len(x.Last.Persist) == 0 || m.council.Conf().Number != 0 {
		t.Fatal("D volconf: the configuration is not written, or is in force before")
	}
	rec := append([]byte{}, x.Last.Persist...)
	if ask(0) || ask(1) {
		t.Error("D volconf: a request is granted while the configuration is on its way to the disk")
	}
	x.Step(protocol.Persisted{})
	if m.council.Conf().Number != 1 {
		t.Fatal("the configuration is not in force")
	}
	if ask(0) {
		t.Error("D oldok: a request of an earlier configuration is granted")
	}
	if !ask(1) {
		t.Error("a request of the own number is not granted")
	}
	again, err := New(config("a", first("a"), true), rec, 2)
	if err != nil {
		t.Fatal(err)
	}
	y := &drivetest.Stepper{Machine: again, Now: 1e9}
	y.Step(protocol.Start{})
	if again.council.Conf().Number != 1 || again.council.Settled() {
		t.Error("D volconf: the configuration is forgotten in a restart, or counts as settled")
	}
}

// A member that no configuration names has no leases. What its programs want it remembers.
func TestMemberWaitsToBeNamed(t *testing.T) {
	m, err := New(config("b", nil, false), nil, 3)
	if err != nil {
		t.Fatal(err)
	}
	x := &drivetest.Stepper{Machine: m, Now: 1e9}
	x.Step(protocol.Start{})
	if len(x.Sent("council.Fetch")) == 0 {
		t.Error("it does not ask for the configuration")
	}
	x.Step(protocol.Campaign{Group: "g"})
	x.Receive(protocol.Ident{Rank: 0, Inc: 10}, &council.Chosen{Conf: first("a")}, protocol.Unknown)
	if m.leases != nil {
		t.Error("it has leases in a council that does not name it")
	}
	x.Receive(protocol.Ident{Rank: 0, Inc: 10}, &council.Chosen{Conf: next(first("a"))}, protocol.Unknown)
	if m.leases == nil || m.Incarnation() != 0 {
		t.Fatal("it does not take its seat, or speaks at once")
	}
	x.Tick(x.Now + 1)
	if len(m.wishes) > 0 {
		t.Error("it has forgotten what its program wants")
	}
}

// C-LIVE: what came while the member had no seat goes before what comes later: a host that was drained, and is not any more, is fit, and
// a program that resigned, and campaigns again, would lead.
func TestWishesKeepTheirOrder(t *testing.T) {
	m, err := New(config("b", nil, false), nil, 3)
	if err != nil {
		t.Fatal(err)
	}
	x := &drivetest.Stepper{Machine: m, Now: 1e9}
	x.Step(protocol.Start{})
	x.Step(protocol.Campaign{ID: 1, Group: "g"})
	x.Step(protocol.Health{OK: true, Drained: true})
	x.Receive(protocol.Ident{Rank: 0, Inc: 10}, &council.Chosen{Conf: next(first("a"))}, protocol.Unknown)
	var took []string
	note := func() {
		for _, a := range x.Last.Answers {
			took = append(took, fmt.Sprint(a.ID))
		}
		for _, f := range x.Last.Facts {
			if f.Ev == protocol.EvHealth {
				took = append(took, f.Why)
			}
		}
	}
	x.Step(protocol.Health{OK: true})
	note()
	x.Step(protocol.Campaign{ID: 2, Group: "g"})
	note()
	for range 5 {
		x.Tick(max(x.Now, x.Last.Wake))
		note()
	}
	if want := []string{"1", "drained", "well", "2"}; !slices.Equal(took, want) {
		t.Errorf("C-LIVE: it took %v, and not %v", took, want)
	}
}

// A newcomer that waits for long remembers no more than what is wanted now: the last campaign of each group that a program wants to lead, and the health.
func TestWaitingMemberRemembersWhatIsWantedNow(t *testing.T) {
	m, err := New(config("b", nil, false), nil, 3)
	if err != nil {
		t.Fatal(err)
	}
	x := &drivetest.Stepper{Machine: m, Now: 1e9}
	x.Step(protocol.Start{})
	for i := range 1000 {
		x.Step(protocol.Campaign{ID: uint64(2*i + 1), Group: "g"})
		x.Step(protocol.Health{OK: i%2 == 0})
		x.Step(protocol.Resign{Group: "g"})
		x.Step(protocol.Campaign{ID: uint64(2*i + 2), Group: protocol.Group(fmt.Sprint("h", i%3))})
	}
	if len(m.wishes) != 4 {
		t.Fatalf("it remembers %d commands of 4,000: want a campaign of each of three groups, and the health", len(m.wishes))
	}
	x.Receive(protocol.Ident{Rank: 0, Inc: 10}, &council.Chosen{Conf: next(first("a"))}, protocol.Unknown)
	var took []string
	for range 10 {
		x.Tick(max(x.Now, x.Last.Wake))
		for _, a := range x.Last.Answers {
			took = append(took, fmt.Sprint(a.ID))
		}
		for _, f := range x.Last.Facts {
			if f.Ev == protocol.EvHealth {
				took = append(took, f.Why)
			}
		}
	}
	if want := []string{"1996", "1998", "ill", "2000"}; !slices.Equal(took, want) {
		t.Errorf("it took %v, and not %v", took, want)
	}
}

// A copy goes its own way.
func TestCloneSharesNothing(t *testing.T) {
	_, m, _ := alone(t)
	c := m.Clone().(*Machine)
	before := string(m.AppendState(nil))
	if string(c.AppendState(nil)) != before {
		t.Fatal("the copy is in another state")
	}
	x := &drivetest.Stepper{Machine: c, Now: 3e9}
	x.Receive(protocol.Ident{Rank: 0, Inc: c.Incarnation()}, &council.Chosen{Conf: next(first("a"))}, protocol.Unknown)
	x.Step(protocol.Persisted{})
	if string(m.AppendState(nil)) != before || c.council.Conf().Number != 1 {
		t.Error("what the copy does changes the machine")
	}
}

// C-OUT: a member that is removed leaves in good order, though it learns of it when its record is written.
func TestRemovedMemberLeavesInGoodOrder(t *testing.T) {
	x, m, _ := alone(t)
	other := first("b")
	other.Number, other.Before = 1, protocol.NewSet(0)
	x.Receive(protocol.Ident{Rank: 1, Inc: 10}, &council.Chosen{Conf: other}, protocol.Unknown)
	for range 100 {
		if len(x.Last.Persist) > 0 {
			x.Step(protocol.Persisted{})
			continue
		}
		x.Tick(x.Now.Add(10 * ms))
	}
	if !m.Closed() || m.Incarnation() != 0 {
		t.Errorf("C-OUT: closed %v, incarnation %d", m.Closed(), m.Incarnation())
	}
}

// N-VER: a guardian waits for the proofs of the leases, whatever configuration they are under.
func TestProofsOfTheLeasesAreShown(t *testing.T) {
	x, m, _ := alone(t)
	x.Step(protocol.Campaign{Group: "g"})
	me := protocol.Ident{Inc: m.Incarnation()}
	for range 10 {
		switch send := x.Last.Send; {
		case len(x.Last.Persist) > 0:
			x.Step(protocol.Persisted{})
		case len(send) > 0: // to itself: it is alone
			x.Receive(me, send[0].Message.Copy(), 0)
		default:
			x.Tick(x.Now.Add(ms))
		}
	}
	if m.Proved() != 0 {
		t.Fatalf("proved until %v before anybody asked", m.Proved())
	}
	x.Receive(me, &nerio.Verify{Nonce: 1, Group: "g", Length: 10 * ms}, 0)
	if past := m.Proved().Sub(x.Now); past < 10*ms {
		t.Errorf("proved until %v from now, want 10 ms and more", past)
	}
}

// C-OUT: a program that campaigns before a member that was removed has closed begins no attempt.
func TestRemovedMemberBeginsNoAttempt(t *testing.T) {
	x, _, _ := alone(t)
	other := first("b")
	other.Number, other.Before = 1, protocol.NewSet(0)
	x.Receive(protocol.Ident{Rank: 1, Inc: 10}, &council.Chosen{Conf: other}, protocol.Unknown)
	x.Step(protocol.Persisted{})
	left := false
	for _, f := range x.Last.Facts {
		left = left || f.Ev == protocol.EvOut
	}
	if !left {
		t.Fatalf("the member has not learnt that it was removed: %+v", x.Last.Facts)
	}
	attempts := func() {
		for _, f := range x.Last.Facts {
			if f.Ev == protocol.EvAttempt {
				t.Errorf("C-OUT: %+v", f)
			}
		}
	}
	x.Step(protocol.Campaign{Group: "g"})
	attempts()
	for range 100 {
		if len(x.Last.Persist) > 0 {
			x.Step(protocol.Persisted{})
		} else {
			x.Tick(x.Now.Add(10 * ms))
		}
		attempts()
	}
}

// What the members have agreed on counts, and not what a member would begin a council with.
func TestMemberGoesByTheTermsInItsRecord(t *testing.T) {
	_, _, rec := alone(t)
	for _, longest := range []time.Duration{300 * ms, 220 * ms} {
		other := first("a")
		other.Terms = council.Terms{Longest: longest, Rho: 2 * protocol.DefaultRho}
		m, err := New(config("a", other, false), rec, 2)
		if err != nil {
			t.Fatal(err)
		}
		if want := first("a").Terms; m.part.Conf.Terms != want || m.part.Bound != want.Wait() {
			t.Errorf("longest promise %v: terms %+v, bound %v", longest, m.part.Conf.Terms, m.part.Bound)
		}
		if n := m.under(m.part.Conf, 0); n.Longest != 250*ms || n.Rho != protocol.DefaultRho {
			t.Errorf("leases up to %v, drift %v", n.Longest, n.Rho)
		}
	}
}

// A member whose own leases are longer than what the members have agreed on takes shorter ones.
func TestLeasesAreNoLongerThanTheLongest(t *testing.T) {
	m, err := New(config("a", first("a"), true), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	short := first("a")
	short.Terms.Longest = 150 * ms
	if n := m.under(short, 0); n.Lease != 150*ms || n.Check() != nil {
		t.Errorf("leases of %v: %v", n.Lease, n.Check())
	}
}
