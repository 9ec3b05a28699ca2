package lease

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

func TestWholeRequestIsRefusedInGivenOrder(t *testing.T) {
	for _, c := range []struct {
		name string
		age  time.Duration
		req  Request
		set  func(*council)
		want Why
	}{
		{"another epoch", protocol.Unknown, Request{Seq: 1, Epoch: 1}, nil, WhyEpoch},
		{"another configuration", protocol.Unknown, Request{Seq: 1, Digest: 1}, nil, WhyConfig},
		{"recovering", protocol.Unknown, Request{Seq: 1}, func(c *council) { c.members[0].grantor.Wait(c.now + 5) }, WhyRecovering},
		{"longer than the longest", protocol.Unknown, Request{Seq: 1, Delta: 301 * ms}, nil, WhyConfig},
		{"no length", protocol.Unknown, Request{Seq: 1, Delta: -1}, nil, WhyConfig},
		{"older than it asks for", 201 * ms, Request{Seq: 1}, nil, WhyLate},
		{"leaving", protocol.Unknown, Request{Seq: 1}, func(c *council) { c.members[0].grantor.Close() }, WhyClosing},
		{"overtaken", protocol.Unknown, Request{Seq: 7}, func(c *council) { c.request(0, 1, Request{Seq: 7}) }, WhyStale},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newCouncil(t, plain(3))
			if c.set != nil {
				c.set(w)
			}
			c.req.Claims = []Claim{{Group: "g", Tenure: 1, Term: 1}}
			n, is := w.requestAged(0, w.ident(1), c.age, c.req).(*Nack)
			if !is || n.Why != c.want {
				t.Fatalf("got %+v, want %v", n, c.want)
			}
			if s := w.members[0].grantor.Status(w.now, "g"); s.Holder != protocol.NoIdent {
				t.Errorf("a refused request was looked at: %v has the group", s.Holder)
			}
		})
	}
}

func TestRecoveringVoterSaysForHowLong(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.members[0].grantor.Wait(c.now.Add(70 * ms))
	if n := c.request(0, 1, Request{Seq: 1}).(*Nack); n.Remaining != 70*ms {
		t.Errorf("remaining %v, want 70ms", n.Remaining)
	}
	c.now = c.now.Add(70 * ms)
	if _, is := c.request(0, 1, Request{Seq: 2}).(*OK); !is {
		t.Error("still refused when the wait is over")
	}
}

// A grantor never shortens: a clamped promise under an unclamped lease would be two leaders.
func TestPromiseLastsAtLeastAsLongAsAskedForInRealTime(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.request(0, 1, Request{Seq: 1, Delta: 100 * ms})
	f := facts(c.members[0], protocol.EvPromise)
	if want := c.now.Add(c.cfg.Rho.WaitAtLeast(100 * ms)); len(f) != 1 || f[0].Until != want {
		t.Errorf("promise %+v, want until %v", f, want)
	}
}

func TestPromiseNeverFallsWhileItStands(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.request(0, 1, Request{Seq: 1, Delta: 200 * ms})
	long := facts(c.members[0], protocol.EvPromise)[0].Until
	c.now = c.now.Add(50 * ms)
	c.request(0, 1, Request{Seq: 2, Delta: 10 * ms})
	if f := facts(c.members[0], protocol.EvPromise)[0]; f.Until != long || f.Gen != 1 {
		t.Errorf("after a shorter request the promise %d stands until %v, want 1 until %v", f.Gen, f.Until, long)
	}
}

func TestRenewalAfterTheEndIsANewPromiseWithoutAssignments(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.claim(0, 1, 1, Claim{Group: "g", Tenure: 1, Term: 1})
	c.now = c.now.Add(c.cfg.Rho.WaitAtLeast(c.cfg.Lease))
	ok := c.request(0, 1, Request{Seq: 2}).(*OK)
	if ok.Gen != 2 {
		t.Errorf("gen %d, want 2", ok.Gen)
	}
	if b := facts(c.members[0], protocol.EvBreak); len(b) != 1 || b[0].Gen != 1 {
		t.Errorf("breaks %+v, want that of promise 1", b)
	}
	if s := c.members[0].grantor.Status(c.now, "g"); s.Holder != protocol.NoIdent {
		t.Errorf("%v still has the group", s.Holder)
	}
}

func TestAssignmentStandsUntilTheLastNanosecond(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.claim(0, 1, 1, Claim{Group: "g", Tenure: 1, Term: 1})
	end := c.now.Add(c.cfg.Rho.WaitAtLeast(c.cfg.Lease))
	c.now = end - 1
	if r := c.claim(0, 2, 1, Claim{Group: "g", Tenure: 1, Term: 5}); r.Code != Busy {
		t.Errorf("a nanosecond before the end: %v, want busy", r.Code)
	}
	c.now = end
	if r := c.claim(0, 2, 2, Claim{Group: "g", Tenure: 1, Term: 5}); r.Code != Granted {
		t.Errorf("at the end: %v, want granted", r.Code)
	}
}

func TestRefusalSaysWhoHasItForHowLongAndAtWhichTerm(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.members[0].candidates["g"] = true
	c.claim(0, 1, 1, Claim{Group: "g", Tenure: 1, Term: 7, Token: 7})
	c.now = c.now.Add(50 * ms)
	want := Result{Group: "g", Term: 9, Code: Busy, Known: 7, Holder: c.ident(1), Token: 7, Candidate: true,
		Remaining: c.cfg.Rho.WaitAtLeast(c.cfg.Lease) - 50*ms}
	if r := c.claim(0, 2, 1, Claim{Group: "g", Tenure: 1, Term: 9}); r != want {
		t.Errorf("got  %+v\nwant %+v", r, want)
	}
}

func TestTermRule(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.claim(0, 1, 1, Claim{Group: "g", Tenure: 4, Term: 7})
	for i, x := range []struct {
		name string
		cl   Claim
		want Code
	}{
		{"lower", Claim{Group: "g", Tenure: 4, Term: 6}, Low},
		{"equal, another tenure", Claim{Group: "g", Tenure: 5, Term: 7}, Low},
		{"equal, the same tenure", Claim{Group: "g", Tenure: 4, Term: 7}, Granted},
		{"above all that can be", Claim{Group: "g", Tenure: 5, Term: MaxTerm + 1}, Low},
		{"higher", Claim{Group: "g", Tenure: 5, Term: 8}, Granted},
	} {
		if r := c.claim(0, 1, uint64(i+2), x.cl); r.Code != x.want {
			t.Errorf("%s: %v, want %v", x.name, r.Code, x.want)
		}
	}
}

// A refused claim does not undo the promise: the groups that its sender has are renewed all the same.
func TestRefusedClaimStillRenews(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.claim(0, 1, 1, Claim{Group: "g", Tenure: 1, Term: 3})
	c.now = c.now.Add(100 * ms)
	c.claim(0, 1, 2, Claim{Group: "h", Tenure: 2, Term: 0})
	c.now = c.now.Add(150 * ms)
	if r := c.claim(0, 2, 1, Claim{Group: "g", Tenure: 1, Term: 9}); r.Code != Busy {
		t.Errorf("%v, want busy: the refused claim had renewed the promise", r.Code)
	}
}

func TestReleaseNamesWhatItReleases(t *testing.T) {
	for _, x := range []struct {
		name string
		rel  func(c *council) Release
		free bool
	}{
		{"its holder at its term", func(c *council) Release { return Release{Group: "g", Of: c.ident(1), Term: 7} }, true},
		{"its holder, higher", func(c *council) Release { return Release{Group: "g", Of: c.ident(1), Term: 9} }, true},
		{"its holder, an earlier attempt", func(c *council) Release { return Release{Group: "g", Of: c.ident(1), Term: 6} }, false},
		{"another member", func(c *council) Release { return Release{Group: "g", Of: c.ident(2), Term: 9} }, false},
		{"another incarnation", func(*council) Release { return Release{Group: "g", Of: protocol.Ident{Rank: 1, Inc: 9}, Term: 9} }, false},
		{"another group", func(c *council) Release { return Release{Group: "h", Of: c.ident(1), Term: 9} }, false},
	} {
		c := newCouncil(t, plain(3))
		c.claim(0, 1, 1, Claim{Group: "g", Tenure: 1, Term: 7})
		rel := x.rel(c)
		rel.To = protocol.Nobody
		c.request(0, 2, Request{Seq: 1, Releases: []Release{rel}}) // whoever brings it
		if s := c.members[0].grantor.Status(c.now, "g"); (s.Holder == protocol.NoIdent) != x.free {
			t.Errorf("%s: %v has the group, want free: %v", x.name, s.Holder, x.free)
		}
	}
}

// E-N3: a claim that was released before it arrived must not become an assignment that nobody will release.
func TestClaimThatComesAfterItsReleaseIsTooLow(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.request(0, 1, Request{Seq: 1, Releases: []Release{{Group: "g", Of: c.ident(1), Term: 7, To: protocol.Nobody}}})
	if r := c.claim(0, 1, 2, Claim{Group: "g", Tenure: 1, Term: 7}); r.Code != Low || r.Known != 7 {
		t.Errorf("%v at %d, want too low at 7", r.Code, r.Known)
	}
}

// Another member's release may lift the voter's term above that of the assignment. The holder's own must still do.
func TestForeignReleaseDoesNotMakeAnAssignmentImmortal(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.claim(0, 1, 1, Claim{Group: "g", Tenure: 1, Term: 5})
	c.request(0, 2, Request{Seq: 1, Releases: []Release{{Group: "g", Of: c.ident(2), Term: 9, To: protocol.Nobody}}})
	c.request(0, 1, Request{Seq: 2, Releases: []Release{{Group: "g", Of: c.ident(1), Term: 5, To: protocol.Nobody}}})
	if s := c.members[0].grantor.Status(c.now, "g"); s.Holder != protocol.NoIdent {
		t.Errorf("%v has the group though it released it", s.Holder)
	}
}

func TestReleaseIsAppliedBeforeTheClaimOfTheSameRequest(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.claim(0, 1, 1, Claim{Group: "g", Tenure: 1, Term: 5})
	ok := c.request(0, 2, Request{Seq: 1, Claims: []Claim{{Group: "g", Tenure: 1, Term: 6}},
		Releases: []Release{{Group: "g", Of: c.ident(1), Term: 5, To: 2}}}).(*OK)
	if ok.Results[0].Code != Granted {
		t.Errorf("%v, want granted", ok.Results[0].Code)
	}
}

func TestNamedHeirGoesFirstForTwoRoundTrips(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.claim(0, 1, 1, Claim{Group: "g", Tenure: 1, Term: 5})
	c.request(0, 1, Request{Seq: 2, Releases: []Release{{Group: "g", Of: c.ident(1), Term: 5, To: 2}}})
	s := c.members[0].grantor.Status(c.now, "g")
	if want := c.now.Add(c.cfg.Rho.WaitAtLeast(40 * ms)); s.Heir != 2 || s.Reserved != want {
		t.Errorf("heir %v until %v, want c until %v", s.Heir, s.Reserved, want)
	}
}

// A restart proves nothing about a program that the incarnation before has left behind.
func TestAssignmentToAnEarlierIncarnationStandsUntilItLapses(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.claim(0, 1, 1, Claim{Group: "g", Tenure: 1, Term: 5})
	c.restart(1, c.now)
	if r := c.claim(0, 1, 1, Claim{Group: "g", Tenure: 1, Term: 9}); r.Code != Busy || r.Holder.Inc != 1 {
		t.Errorf("%v by %v, want busy by b/1", r.Code, r.Holder)
	}
	c.now = c.now.Add(c.cfg.Rho.WaitAtLeast(c.cfg.Lease))
	if r := c.claim(0, 1, 2, Claim{Group: "g", Tenure: 1, Term: 9}); r.Code != Granted {
		t.Errorf("%v, want granted after the lapse", r.Code)
	}
}

func TestAnswerWaitsForTheDiskOnlyAboveTheCeiling(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.members[0].terms.Durable = 100
	for i, x := range []struct {
		req  Request
		want bool
	}{
		{Request{Claims: []Claim{{Group: "g", Tenure: 1, Term: 100}}}, false},
		{Request{Claims: []Claim{{Group: "h", Tenure: 1, Term: 101}}}, true},
		{Request{Releases: []Release{{Group: "i", Of: c.ident(1), Term: 102}}}, true},
		{Request{Claims: []Claim{{Group: "g", Tenure: 2, Term: 1}}}, false}, // refused
		{Request{}, false},
	} {
		x.req.Seq = uint64(i + 1)
		c.request(0, 1, x.req)
		if got := c.sent[len(c.sent)-1].durable; got != x.want {
			t.Errorf("request %d: waits for the disk: %v, want %v", i, got, x.want)
		}
	}
}

func TestForgottenGroupStartsAboveItsTerm(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.claim(0, 1, 1, Claim{Group: "g", Tenure: 1, Term: 5})
	g := c.members[0].grantor
	keepNone := func(protocol.Group) bool { return false }
	g.Sweep(c.now, 0, keepNone)
	if len(g.groups) != 1 {
		t.Fatal("a group that is assigned was forgotten")
	}
	c.now = c.now.Add(time.Second)
	c.do(0, func(*half) {})
	g.See(c.now, "g", 8)
	g.Sweep(c.now, 0, func(protocol.Group) bool { return true })
	if len(g.groups) != 1 {
		t.Fatal("a group that is wanted was forgotten")
	}
	g.Sweep(c.now, time.Second, keepNone)
	if len(g.groups) != 1 {
		t.Fatal("a group was forgotten too soon")
	}
	g.Sweep(c.now, 0, keepNone)
	if len(g.groups) != 0 || c.members[0].terms.Floor != 8 {
		t.Fatalf("%d groups, floor %d, want none and 8: own proposals count", len(g.groups), c.members[0].terms.Floor)
	}
	if r := c.claim(0, 2, 1, Claim{Group: "g", Tenure: 1, Term: 8}); r.Code != Low {
		t.Errorf("%v, want too low: equality is refused where the owner was forgotten", r.Code)
	}
	if r := c.claim(0, 2, 2, Claim{Group: "other", Tenure: 1, Term: 9}); r.Code != Granted {
		t.Errorf("%v, want granted above the floor", r.Code)
	}
}

func TestPolicyCanRefuse(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.members[0].refuse = true
	if r := c.claim(0, 1, 1, Claim{Group: "g", Tenure: 1, Term: 5}); r.Code != Refused || r.Known != 0 {
		t.Errorf("%v at term %d, want refused and nothing accepted", r.Code, r.Known)
	}
}

// shared is synchronised time for tests: each member's lease clock plus an offset.
type shared struct {
	offset, skew time.Duration
}

func (s shared) At(now protocol.Time) protocol.Time { return now.Add(s.offset) }
func (s shared) Skew() time.Duration                { return s.skew }
func (s shared) Slew() protocol.Rho                 { return 0 }

// Nerio §5: a dead leader's late request blocks the group for a whole lease under bounded drift, if its age is not
// checked; under bounded skew it does not; and with the check the difference is gone.
func TestDeadLeadersLateRequestBlocksUnderDriftButNotUnderSkew(t *testing.T) {
	late := func(cfg Config) Code {
		c := newCouncil(t, cfg)
		r := Request{Seq: 1, Claims: []Claim{{Group: "g", Tenure: 1, Term: 1}}}
		if cfg.Skew != nil {
			r.Start = cfg.Skew.At(c.now)
		}
		c.now = c.now.Add(500 * ms) // on its way
		c.requestAged(0, c.ident(1), 500*ms, r)
		return c.claim0(0, 2, Claim{Group: "g", Tenure: 1, Term: 2})
	}
	drift := plain(3)
	if got := late(drift); got != Granted {
		t.Errorf("drift with the age check: %v, want granted", got)
	}
	drift.TrustAge = true
	if got := late(drift); got != Busy {
		t.Errorf("drift as in the paper: %v, want busy", got)
	}
	skew := plain(3)
	skew.TrustAge, skew.Skew = true, shared{skew: 5 * ms}
	if got := late(skew); got != Granted {
		t.Errorf("skew: %v, want granted", got)
	}
}

// claim0 claims with a start of now, for either kind of clock.
func (c *council) claim0(to, from protocol.Rank, cl Claim) Code {
	r := Request{Seq: 1, Claims: []Claim{cl}}
	if c.cfg.Skew != nil {
		r.Start = c.cfg.Skew.At(c.now)
	}
	return c.request(to, from, r).(*OK).Results[0].Code
}

func TestUnderSkewThePromiseEndsByTheRequestsOwnStart(t *testing.T) {
	cfg := plain(3)
	cfg.Skew = shared{offset: time.Hour, skew: 5 * ms}
	c := newCouncil(t, cfg)
	start := cfg.Skew.At(c.now)
	c.now = c.now.Add(30 * ms)
	c.request(0, 1, Request{Seq: 1, Start: start})
	if f, want := facts(c.members[0], protocol.EvPromise)[0], c.now.Add(200*ms+5*ms-30*ms); f.Until != want {
		t.Errorf("until %v, want %v", f.Until, want)
	}
	if n, is := c.request(0, 1, Request{Seq: 2, Start: cfg.Skew.At(c.now) + protocol.Time(6*ms)}).(*Nack); !is || n.Why != WhyClock {
		t.Errorf("a start in the future: %+v, want a clock fault", n)
	}
}

// A voter that has forgotten its promise runs as fast as a clock may, and the holder as slow.
func TestWaitOfARestartedVoterOutlastsEveryLease(t *testing.T) {
	for _, rho := range []protocol.Rho{0, protocol.DefaultRho, 1e8, 4e8} {
		c := plain(3)
		c.Rho = rho
		for _, delta := range []time.Duration{1, 7, 200 * ms, time.Hour} {
			waits, leads := rho.RealAtLeast(c.LongestPromise(delta)), rho.RealAtMost(c.hold(delta))
			if waits < leads {
				t.Errorf("drift %v: a lease of %v lasts up to %v, and the wait for it only %v", rho, delta, leads, waits)
			}
		}
	}
}

// The release of the tenure before was lost.
func TestVoterNotesALaterTenureOfTheSameLeader(t *testing.T) {
	c := newCouncil(t, plain(3))
	c.claim(0, 1, 1, Claim{Group: "g", Tenure: 1, Term: 5, Token: 5})
	g := c.members[0].grantor
	g.TakeChanges()
	c.claim(0, 1, 2, Claim{Group: "g", Tenure: 1, Term: 5, Token: 5})
	if n := len(g.TakeChanges()); n != 0 {
		t.Errorf("%d changes by a claim that says nothing new", n)
	}
	c.claim(0, 1, 3, Claim{Group: "g", Tenure: 2, Term: 6, Token: 6})
	if n := len(g.TakeChanges()); n != 1 || g.Status(c.now, "g").Token != 6 {
		t.Errorf("%d changes, token %d: want one change, token 6", n, g.Status(c.now, "g").Token)
	}
}
