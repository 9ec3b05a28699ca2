package datagram

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

const (
	ms  = time.Millisecond
	rho = protocol.DefaultRho
)

// A cluster is some members that share one real time, in which the test moves by hand. Their clocks differ by offsets.
type cluster struct {
	t      *testing.T
	real   time.Duration
	offset []protocol.Time
	e      []*Endpoint
	starts byte
}

func newTown(t *testing.T, incs ...protocol.Inc) *cluster {
	w := &cluster{t: t, real: time.Hour}
	for i := range incs {
		w.offset = append(w.offset, protocol.Time(i)*protocol.Time(1000*time.Hour))
		w.e = append(w.e, nil)
	}
	for i, inc := range incs {
		w.start(i, inc)
	}
	return w
}

func (w *cluster) start(i int, inc protocol.Inc) {
	w.t.Helper()
	w.starts++
	e, err := New(w.clock(i), Config{Self: protocol.Ident{Rank: protocol.Rank(i), Inc: inc}, Members: len(w.e), Start: Start{w.starts}, Rho: rho, Delta: 10 * ms})
	if err != nil {
		w.t.Fatal(err)
	}
	w.e[i] = e
}

func (w *cluster) clock(i int) protocol.Time { return protocol.Time(w.real) + w.offset[i] }

func (w *cluster) pass(d time.Duration) { w.real += d }

func (w *cluster) stamp(from, to int) Header {
	now := w.clock(from)
	return w.e[from].Stamp(now, now, protocol.Rank(to))
}

func (w *cluster) accept(to int, h Header) Verdict { return w.e[to].Accept(w.clock(to), &h) }

// send lets a datagram take d.
func (w *cluster) send(from, to int, d time.Duration) Verdict {
	h := w.stamp(from, to)
	w.pass(d)
	return w.accept(to, h)
}

// meet lets two members hear one another twice.
func (w *cluster) meet(a, b int) {
	for range 2 {
		w.send(a, b, ms)
		w.send(b, a, ms)
	}
}

func (w *cluster) want(v Verdict, want Reason) {
	w.t.Helper()
	if v.Reason != want {
		w.t.Fatalf("the datagram is %v, want %v", v.Reason, want)
	}
}

func TestStrangersHaveNoBoundAndAreIntroducedByAProbe(t *testing.T) {
	w := newTown(t, 5, 7)
	w.e[1].Probes(w.clock(1))
	w.stamp(1, 0) // the greeting of one is lost
	w.pass(100 * ms)
	if v := w.send(0, 1, ms); v.Reason != OtherIncarnation || v.Delay != protocol.Unknown || !v.Restarted {
		t.Fatalf("the first datagram: %+v", v)
	}
	if due := w.e[1].Probes(w.clock(1)); len(due) != 1 || due[0] != 0 {
		t.Fatalf("probes due to %v, want to the stranger", due)
	}
	v := w.send(1, 0, 2*ms)
	if v.Reason != Accepted || v.Delay < 2*ms || v.Delay > 3*ms+10*time.Microsecond {
		t.Fatalf("the probe that answers, after delays of 1 ms and 2 ms: %+v", v)
	}
	if due := w.e[0].Probes(w.clock(0)); len(due) != 0 {
		t.Fatalf("probes due to %v after a probe with a good echo", due)
	}
	if v := w.send(0, 1, ms); v.Reason != Accepted || !w.e[1].Fast(v.Delay) {
		t.Fatalf("the first message between members that met: %+v", v)
	}
}

func TestBoundIsTheRoundTripLessTheWait(t *testing.T) {
	w := newTown(t, 1, 1)
	w.meet(0, 1)
	w.send(0, 1, 3*ms)
	w.pass(100 * ms)
	v := w.send(1, 0, 4*ms)
	// The best echo took 1 ms, about 110 ms ago.
	if v.Delay < 5*ms || v.Delay > 5*ms+300*time.Microsecond {
		t.Fatalf("bound %v, want 5 ms and drift", v.Delay)
	}
}

func TestOldFastEchoGivesWayToANewOneThatDriftMakesBetter(t *testing.T) {
	w := newTown(t, 1, 1)
	w.meet(0, 1) // 1 ms
	w.pass(400 * ms)
	w.send(0, 1, ms+500*time.Microsecond) // 0.5 ms slower, but 0.8 ms of drift newer
	v := w.send(1, 0, ms)
	if want := 2*ms + 510*time.Microsecond; v.Delay > want {
		t.Fatalf("bound %v, want at most %v", v.Delay, want)
	}
}

func TestEchoIsForgottenAtItsAge(t *testing.T) {
	w := newTown(t, 1, 1)
	w.meet(0, 1)
	maxAge := w.e[0].config.MaxAge
	w.pass(maxAge - 10*ms)
	if h := w.stamp(1, 0); h.Echo == (Echo{}) {
		t.Fatal("no echo shortly before it is too old")
	}
	w.pass(20 * ms)
	if h := w.stamp(1, 0); h.Echo != (Echo{}) {
		t.Fatalf("echo %v of a datagram that is too old", h.Echo)
	}
}

// The counterexample to keeping only the best echo until it is too old: all others were turned down meanwhile.
func TestLuckyEchoIsNotMissedWhenItIsForgotten(t *testing.T) {
	w := newTown(t, 1, 1)
	w.meet(0, 1)
	w.send(0, 1, 50*time.Microsecond)
	for range 60 {
		w.pass(100 * ms)
		w.send(0, 1, 4*ms)
		if v := w.send(1, 0, 4*ms); !w.e[0].Fast(v.Delay) {
			t.Fatalf("bound %v between members that hear one another all the time", v.Delay)
		}
	}
}

func TestHeldDatagramDoesNotStandInForAProbe(t *testing.T) {
	w := newTown(t, 1, 1)
	w.meet(0, 1)
	w.pass(w.e[0].config.MaxAge/2 + ms)
	w.e[0].Stamp(w.clock(0), w.clock(0)-protocol.Time(5*ms), 1)
	if due := w.e[0].Probes(w.clock(0)); len(due) != 1 {
		t.Fatal("no probe is due after a datagram that waited")
	}
	w.stamp(0, 1)
	w.pass(w.e[0].config.MaxAge/2 + ms)
	w.e[0].Stamp(w.clock(0), w.clock(0)-protocol.Time(20*time.Microsecond), 1)
	if due := w.e[0].Probes(w.clock(0)); len(due) != 0 {
		t.Fatal("a probe is due after a datagram that left when its Step was done")
	}
}

func TestEchoOfAnEarlierIncarnationDoesNotCount(t *testing.T) {
	w := newTown(t, 1, 1)
	w.meet(0, 1)
	h := w.stamp(1, 0) // its echo is about incarnation 1 of 0
	w.offset[0] -= protocol.Time(time.Hour)
	w.start(0, 2)
	w.pass(ms)
	if v := w.accept(0, h); v.Reason != OtherIncarnation || v.Delay != protocol.Unknown {
		t.Fatalf("a datagram for the incarnation before: %+v", v)
	}
	// The peer that hears of the restart forgets its pair, which is of the clock before.
	w.send(0, 1, ms)
	if h := w.stamp(1, 0); h.To.Inc != 2 || h.Echo.Sent != w.clock(0)-protocol.Time(ms) {
		t.Fatalf("to %v with echo %v, want incarnation 2 and its own stamp", h.To, h.Echo)
	}
}

func TestDuplicatesAreDropped(t *testing.T) {
	w := newTown(t, 1, 1)
	w.meet(0, 1)
	h := w.stamp(0, 1)
	late := w.stamp(0, 1)
	w.pass(ms)
	w.want(w.accept(1, h), Accepted)
	w.want(w.accept(1, h), Replayed)
	w.pass(ms)
	w.want(w.accept(1, late), Accepted)
	w.want(w.accept(1, h), Replayed)
	if c := w.e[1].Counts(); c.Packets[Replayed] != 2 {
		t.Fatalf("%d duplicates counted, want 2", c.Packets[Replayed])
	}
}

func TestNumbersStartOverWithAnIncarnation(t *testing.T) {
	w := newTown(t, 1, 1)
	w.meet(0, 1)
	w.start(0, 2)
	w.send(1, 0, ms)
	w.want(w.send(0, 1, ms), Accepted)
	if h := w.stamp(0, 1); h.Seq != 2 {
		t.Fatalf("number %d, want 2", h.Seq)
	}
}

func TestLowerIncarnationIsDroppedAndAnswered(t *testing.T) {
	w := newTown(t, 5, 1)
	w.meet(0, 1)
	old := w.e[0]
	w.start(0, 6)
	w.meet(0, 1)
	w.pass(100 * ms)
	now := w.clock(0)
	h := old.Stamp(now, now, 1)
	w.pass(ms)
	w.want(w.accept(1, h), Stale)
	if due := w.e[1].Probes(w.clock(1)); len(due) != 1 {
		t.Fatal("nothing is due to the outdated process")
	}
	answer := w.stamp(1, 0)
	w.pass(ms)
	if v := old.Accept(w.clock(0), &answer); v.Reason != OtherIncarnation {
		t.Fatalf("the outdated process hears %+v, want a packet for another", v)
	}
	if v := w.accept(0, answer); v.Reason != Accepted {
		t.Fatalf("the present process hears %+v", v)
	}
}

// A process whose record is an old copy may have spoken before it had read it: then it was nameless, and no longer is.
func TestProcessThatWasNamelessHearsThatItsNameIsOld(t *testing.T) {
	for _, name := range []protocol.Inc{4, 5} {
		w := newTown(t, 5, 7)
		w.meet(0, 1)
		w.start(0, 0) // it has not read its record yet
		w.send(1, 0, ms)
		w.send(0, 1, ms)
		w.want(w.send(0, 1, ms), Accepted)
		w.e[0].SetIncarnation(name)
		w.pass(ms)
		reason := Twin
		if name < 5 {
			reason = Stale
		}
		w.want(w.send(0, 1, ms), reason)
		if h := w.stamp(1, 0); h.To.Inc != 5 {
			t.Errorf("as %d it is called %v, want the incarnation that was heard", name, h.To)
		}
	}
}

func TestMemberWithoutIncarnationIsHeardAndAnswered(t *testing.T) {
	w := newTown(t, 5, 7)
	w.meet(0, 1)
	w.start(0, 0) // it lost its record
	w.pass(100 * ms)
	w.want(w.send(0, 1, ms), OtherIncarnation)
	if v := w.send(1, 0, ms); v.Reason != OtherIncarnation {
		t.Fatalf("what is meant for incarnation 5 reaches a process that has none yet: %+v", v)
	}
	v := w.send(0, 1, ms)
	if v.Reason != Accepted || v.Delay != protocol.Unknown || v.Restarted {
		t.Fatalf("its question: %+v, want it delivered and nothing known", v)
	}
	if v := w.send(1, 0, ms); v.Reason != Accepted || v.Delay != protocol.Unknown {
		t.Fatalf("the answer: %+v, want it delivered and nothing known", v)
	}
	w.e[0].SetIncarnation(8)
	if v := w.send(0, 1, ms); v.Reason != Accepted || !v.Restarted {
		t.Fatalf("its first datagram with a name: %+v", v)
	}
	if v := w.send(1, 0, ms); v.Reason != Accepted || !w.e[0].Fast(v.Delay) {
		t.Fatalf("then it hears %+v", v)
	}
}

func TestMembersThatAllLackAnIncarnationHearOneAnother(t *testing.T) {
	w := newTown(t, 0, 0)
	w.want(w.send(0, 1, ms), OtherIncarnation) // it does not know yet whom it speaks to
	w.want(w.send(1, 0, ms), Accepted)
	w.want(w.send(0, 1, ms), Accepted)
}

// Two recorded starts without an incarnation, played in turn, are no fresh ones: neither echoes what was sent since. So they
// void nothing that is meant for the process that lives.
func TestRecordedStartsWithoutIncarnationStayReplays(t *testing.T) {
	w := newTown(t, 5, 7)
	w.meet(0, 1)
	var recorded []Header
	for range 2 {
		w.start(0, 0)
		w.pass(ms)
		w.send(1, 0, ms)
		recorded = append(recorded, w.stamp(0, 1))
		w.pass(ms)
		w.want(w.accept(1, recorded[len(recorded)-1]), Accepted)
	}
	w.e[0].SetIncarnation(8)
	w.meet(0, 1)
	for i := range 10 {
		w.pass(ms)
		w.want(w.accept(1, recorded[i%2]), Replayed)
		if v := w.send(1, 0, ms); v.Reason != Accepted {
			t.Fatalf("after a replay the packets of its receiver are %v", v.Reason)
		}
	}
}

// A packet that is meant for another start of the receiver carries nothing, though the incarnation is the same.
func TestPacketForATwinIsNotDelivered(t *testing.T) {
	w := newTown(t, 1, 1)
	w.meet(0, 1)
	h := w.stamp(0, 1)
	w.start(1, 1)
	w.pass(ms)
	w.want(w.accept(1, h), OtherIncarnation)
}

func TestIncarnationThatLeavesNoRoomForAnotherIsMalformed(t *testing.T) {
	w := newTown(t, 1, 1)
	h := w.stamp(0, 1)
	h.From.Inc = protocol.MaxInc + 1
	w.want(w.accept(1, h), Malformed)
}

func TestMisdirectedDatagramsAreDropped(t *testing.T) {
	w := newTown(t, 1, 1, 1)
	good := w.stamp(0, 1)
	for name, c := range map[string]struct {
		change func(*Header)
		want   Reason
	}{
		"from oneself":                   {func(h *Header) { h.From.Rank = 1 }, Stranger},
		"from beyond":                    {func(h *Header) { h.From.Rank = 3 }, Stranger},
		"for another member":             {func(h *Header) { h.To.Rank = 2 }, Misdirected},
		"without a number":               {func(h *Header) { h.Seq = 0 }, Malformed},
		"another configuration":          {func(h *Header) { h.Council.Digest[7]++ }, Mismatch},
		"another council, other ranks":   {func(h *Header) { h.Council.Digest[7]++; h.From.Rank, h.To.Rank = 7, 8 }, Mismatch},
		"another council, and no member": {func(h *Header) { h.Council.Digest[7]++; h.From.Rank = protocol.Nobody }, Stranger},
		"another number, from beyond":    {func(h *Header) { h.Council.Epoch++; h.From.Rank = 7 }, Stranger},
		"another number, for another":    {func(h *Header) { h.Council.Epoch++; h.To.Rank = 2 }, Misdirected},
	} {
		h := good
		c.change(&h)
		count, peers := w.e[1].counts.Packets[c.want], slices.Clone(w.e[1].peers)
		if v := w.accept(1, h); v.Reason != c.want || w.e[1].counts.Packets[c.want] != count+1 {
			t.Errorf("%s: %v", name, v.Reason)
		}
		if !slices.Equal(peers, w.e[1].peers) {
			t.Errorf("%s: it changed the endpoint", name)
		}
	}
}

func TestHeldMessageCountsFromItsStep(t *testing.T) {
	w := newTown(t, 1, 1)
	w.meet(0, 1)
	step := w.clock(0)
	w.pass(30 * ms) // the disk
	w.send(1, 0, ms)
	h := w.e[0].Stamp(w.clock(0), step, 1)
	w.pass(2 * ms)
	if v := w.accept(1, h); v.Delay < 33*ms || v.Delay > 35*ms {
		t.Fatalf("a message that waited 31 ms for the disk and took 2 ms: bound %v", v.Delay)
	}
}

func TestImpossibleBoundIsCountedAndNotBelieved(t *testing.T) {
	w := newTown(t, 1, 1)
	w.meet(0, 1)
	w.pass(10 * ms)
	h := w.stamp(1, 0)
	h.Sent += protocol.Time(50 * ms) // its clock leapt
	w.pass(ms)
	if v := w.accept(0, h); v.Reason != Accepted || v.Delay != protocol.Unknown {
		t.Fatalf("%+v, want nothing proven", v)
	}
	if w.e[0].Counts().Impossible != 1 {
		t.Fatal("not counted")
	}
	h = w.stamp(1, 0)
	h.Echo.Sent = w.clock(0) + protocol.Time(time.Hour)
	w.pass(ms)
	if v := w.accept(0, h); v.Delay != protocol.Unknown {
		t.Fatalf("an echo of what was not sent yet proves %v", v.Delay)
	}
}

func TestLoopbackHasABoundOfItsOwn(t *testing.T) {
	w := newTown(t, 1)
	if got := w.e[0].Loopback(1_000_000, 0); got < ms || got > ms+2*time.Microsecond {
		t.Fatalf("a message to oneself that took 1 ms of the clock: %v", got)
	}
	if w.e[0].Wake() != protocol.Never || len(w.e[0].Probes(5)) != 0 {
		t.Fatal("a member alone wants to probe")
	}
}

func TestExpiringLinkDeliversOnlyWhatIsProvenInTime(t *testing.T) {
	for _, c := range []struct {
		delay time.Duration
		want  bool
	}{{0, true}, {8 * ms, true}, {8*ms + 1, false}, {protocol.Unknown, false}} {
		if got := (Verdict{Delay: c.delay}).By(8 * ms); got != c.want {
			t.Errorf("proven %v, expires after 8 ms: delivered %v", c.delay, got)
		}
	}
}

func TestReportTellsOfAPeer(t *testing.T) {
	w := newTown(t, 1, 4)
	if r := w.e[0].Report(w.clock(0), 1); r.Inc != 0 || r.Bound != protocol.Unknown || r.Fast {
		t.Fatalf("of a peer never heard: %+v", r)
	}
	w.meet(0, 1)
	r := w.e[0].Report(w.clock(0), 1)
	if r.Inc != 4 || r.Heard != w.clock(0) || !r.Fast || r.RTT != 2*ms || r.EchoAge < 2*ms || r.Rivals {
		t.Fatalf("%+v", r)
	}
	w.send(1, 0, 50*ms)
	if r := w.e[0].Report(w.clock(0), 1); r.Fast || r.Bound < 50*ms {
		t.Fatalf("after a slow datagram: %+v", r)
	}
}

// A pause of this process is not shown as a slow peer: what waited for it measures the pause. Protocols that rest on the bound get it as large as before.
func TestReportLeavesOwnPausesOut(t *testing.T) {
	w := newTown(t, 1, 4)
	w.meet(0, 1)
	h := w.stamp(1, 0)
	w.pass(2 * time.Second)
	w.e[0].Paused(w.clock(0))
	if v := w.accept(0, h); v.Delay < 2*time.Second {
		t.Errorf("the packet was under way for 2 s, and the bound is %v", v.Delay)
	}
	if r := w.e[0].Report(w.clock(0), 1); r.Bound != protocol.Unknown || r.Fast || r.RTT != 2*ms {
		t.Errorf("after a pause: %+v", r)
	}
	w.meet(0, 1)
	if r := w.e[0].Report(w.clock(0), 1); !r.Fast || r.RTT != 2*ms {
		t.Errorf("some packets later: %+v", r)
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := Config{Members: 3, Rho: rho, Delta: 10 * ms}
	if e, err := New(0, good); err != nil || e.config.MaxAge != 1250*ms {
		t.Fatalf("%v, maximal age %v, want 1.25s", err, e.config.MaxAge)
	}
	for want, change := range map[string]func(*Config){
		"rho":           func(c *Config) { c.Rho = -1 },
		"members":       func(c *Config) { c.Members = 0 },
		"rank":          func(c *Config) { c.Self.Rank = 3 },
		"delta":         func(c *Config) { c.Delta = 0 },
		"minimal delay": func(c *Config) { c.MinDelay = 10 * ms },
		"maximal age":   func(c *Config) { c.MaxAge = ms },
	} {
		c := good
		change(&c)
		if _, err := New(0, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
}

func TestNothingIsAllocatedInSteadyState(t *testing.T) {
	w := newTown(t, 1, 1)
	w.meet(0, 1)
	if n := testing.AllocsPerRun(1000, func() {
		w.send(0, 1, ms)
		w.send(1, 0, ms)
		w.e[0].Probes(w.clock(0))
		w.e[1].Probes(w.clock(1))
		w.pass(100 * ms)
	}); n != 0 {
		t.Fatalf("%v allocations per exchange", n)
	}
}

func BenchmarkExchange(b *testing.B) {
	e, _ := New(0, Config{Self: protocol.Ident{Rank: 0, Inc: 1}, Members: 5, Rho: rho, Delta: 10 * ms})
	f, _ := New(0, Config{Self: protocol.Ident{Rank: 1, Inc: 1}, Members: 5, Rho: rho, Delta: 10 * ms})
	now := protocol.Time(0)
	b.ReportAllocs()
	for b.Loop() {
		now += 1_000_000
		h := e.Stamp(now, now, 1)
		f.Accept(now+100_000, &h)
		h = f.Stamp(now+200_000, now+200_000, 0)
		e.Accept(now+300_000, &h)
	}
}

// A configuration with another bound on drift has another age at which an echo is forgotten, unless that was set.
func TestAdoptedDriftBoundsDelays(t *testing.T) {
	for set, want := range map[time.Duration]time.Duration{0: 250 * ms, time.Second: time.Second} {
		e, err := New(0, Config{Self: protocol.Ident{Inc: 1}, Members: 3, Rho: rho, Delta: 10 * ms, MaxAge: set})
		if err != nil {
			t.Fatal(err)
		}
		e.Adopt(0, 0, 3, Council{Epoch: 1}, 5*rho, protocol.Everyone(3), protocol.Set{})
		if e.config.Rho != 5*rho || e.config.MaxAge != want {
			t.Errorf("drift %v, age %v, want %v", e.config.Rho, e.config.MaxAge, want)
		}
	}
}
