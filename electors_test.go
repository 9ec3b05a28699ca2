package regent

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/elector"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/internal/protocol/stable"
)

// says names the packages whose messages a machine sends in its first second.
func says(m protocol.Machine) string {
	said := make(map[string]bool)
	e := drivetest.Step(m, 0, protocol.Start{})
	for now := protocol.Time(0); ; {
		for _, s := range e.Send {
			said[strings.Split(s.Message.Name(), ".")[0]] = true
		}
		now = max(now, e.Wake)
		if now > protocol.Time(time.Second) {
			return strings.Join(slices.Sorted(maps.Keys(said)), " ")
		}
		e = drivetest.Step(m, now, protocol.Tick{})
	}
}

func TestElectorsAreThoseThatWereAskedFor(t *testing.T) {
	for kind, want := range map[elector.Kind]string{elector.Stable: "stable", elector.TimeFree: "timefree", elector.FSource: "fsource",
		elector.Hybrid: "fsource timefree", elector.Rank: "rank", elector.Ring: "ring", elector.Hall: "hall"} {
		p := electorTiming{self: 1, members: 5, inc: 1, period: LAN.Renew, suspect: 3 * LAN.Renew, timing: &LAN}
		m, err := p.newElector(kind)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if got := says(m); got != want {
			t.Errorf("%s speaks %q, want %q", kind, got, want)
		}
	}
}

// Under quorum groups a member without a quorum must not start rounds, and members that may not lead have none.
func TestCouncilsElectorIsGatedAndKnowsWhoMayLead(t *testing.T) {
	c := Config{Name: "b", Timing: LAN, Council: []Peer{{Name: "a", Witness: true, Addrs: []string{"a:1"}}, {Name: "b", Addrs: []string{"b:1"}},
		{Name: "c", Addrs: []string{"c:1"}}, {Name: "o", Observer: true, Addrs: []string{"o:1"}}}}
	council, err := c.council()
	if err != nil {
		t.Fatal(err)
	}
	p := memberOf(c, council).councilTiming(7, council.shape())
	s := p.stable()
	if s.Members != 3 || s.Self != 1 || s.Inc != 7 || s.Candidates != protocol.NewSet(1, 2) {
		t.Errorf("it runs among %d members, with the candidates %v", s.Members, s.Candidates)
	}
	if s.Gate.Members() != 3 || s.Gate.In(protocol.NewSet(1)) || !s.Gate.In(protocol.NewSet(0, 1)) {
		t.Errorf("its gate is %v", s.Gate)
	}
	if s.Variant != stable.Alerting || !s.Ping || s.Period != LAN.Heartbeat || s.Period+s.Delta != LAN.Suspect {
		t.Errorf("it is not Fig. 5 with the timing of the council: %+v", s)
	}
	if s.Expiry <= 0 || s.Expiry >= s.Delta || s.Rho != LAN.rho() {
		t.Errorf("timers have no part of delta: %+v", s)
	}
	if e := (&electorTiming{self: 1, members: 3, inc: 1, period: LAN.Renew, suspect: 3 * LAN.Renew, timing: &LAN}).stable(); e.Gate.Members() != 0 || !e.Ping {
		t.Errorf("an eventual group needs no quorum: %+v", e)
	}
}

// The benchmarks of electors and fail-over, and docs/composition.md, have the constants of the profiles written down once more: see
// sim/suite/library_test.go, and change them there when this fails.
func TestBenchmarksHaveThePaceOfTheLibrary(t *testing.T) {
	const ms = time.Millisecond
	lan := Timing{RoundTrip: 20 * ms, Renew: 50 * ms, Lease: 200 * ms, LongestLease: 30_000 * ms, PerGroup: 10 * time.Microsecond, Guard: LAN.Guard,
		Heartbeat: 500 * ms, Suspect: 1200 * ms, Delay: 10 * ms, Evict: LAN.Evict, Drift: 0.001}
	fast := Timing{RoundTrip: 4 * ms, Renew: 15 * ms, Lease: 28 * ms, LongestLease: 30_000 * ms, PerGroup: 10 * time.Microsecond, Guard: Fast.Guard,
		Heartbeat: 500 * ms, Suspect: 1200 * ms, Delay: 5 * ms, Evict: Fast.Evict, Drift: 0.001}
	if LAN != lan || Fast != fast {
		t.Errorf("LAN is %+v, Fast %+v", LAN, Fast)
	}
	five := &council{peers: make([]Peer, 5)}
	p := memberOf(Config{Timing: LAN}, five).councilTiming(1, five.shape())
	if c := p.stable(); c.Period != 500*ms || c.Delta != 700*ms || c.Expiry != 690*ms {
		t.Errorf("under LAN the stable elector has a period of %v, and δ is %v, of which messages may take %v", c.Period, c.Delta, c.Expiry)
	}
}

// memberOf returns a member of a council that does not run.
func memberOf(c Config, of *council) *Member {
	m := &Member{config: c}
	m.present.Store(of)
	return m
}
