package pipe

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rank"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
)

const ms = time.Millisecond

var config = Config{Rho: protocol.DefaultRho, Delta: 15 * ms}

// world runs the plain elector through ports.
func world(t *testing.T, members int, port sim.NewPort, change func(*sim.Config)) *sim.World {
	t.Helper()
	c := sim.Config{Members: members, Seed: 7, Port: port, Messages: true, Link: sim.Link{Delay: sim.Between(ms, 3*ms)},
		Spawn: func(b sim.Boot) (protocol.Machine, error) { return rank.New(rank.Default(b.Self, b.Members, b.Inc)) }}
	for i := range members {
		c.Clocks = append(c.Clocks, sim.ClockSpec{Offset: protocol.Time(i) * 1e15, Rate: int64(1-2*(i%2)) * int64(protocol.DefaultRho)})
	}
	if change != nil {
		change(&c)
	}
	w, err := sim.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A tally counts deliveries.
type tally struct{ delivered, proven, fast, refused int }

func (y *tally) Observe(r *sim.Record) error {
	switch r.Ev {
	case sim.EvDeliver:
		y.delivered++
		if d := r.Detail.(sim.Delivery); d.Bound >= 0 {
			y.proven++
			if time.Duration(d.Bound) <= config.Delta {
				y.fast++
			}
		}
	case sim.EvDrop:
		y.refused++
	}
	return nil
}

func TestMachinesRunThroughTheLayersAsWithoutThem(t *testing.T) {
	for name, port := range map[string]sim.NewPort{"plain": Plain(config), "sealed": Sealed(config)} {
		t.Run(name, func(t *testing.T) {
			w := world(t, 3, port, func(c *sim.Config) { c.Link.Loss, c.Link.Duplicate = sim.Percent(2), sim.Percent(20) })
			y := &tally{}
			settle := 4 * time.Second
			omega := check.NewOmega(w, settle)
			w.Observe(y, check.NewBounded(), check.NewOnce(), check.NewPresent(), omega)
			w.Begin(sim.Fault{Kind: sim.Crash, A: 1, B: protocol.Nobody, For: 2 * time.Second, Disk: sim.Reboot})
			run(t, w, 5*time.Second)
			w.Phase(sim.Liveness, protocol.Everyone(3))
			run(t, w, 15*time.Second)
			if err := omega.Finish(); err != nil {
				t.Fatal(err)
			}
			if y.delivered < 100 || y.proven < y.delivered*9/10 || y.fast < y.delivered*9/10 || y.refused == 0 {
				t.Fatalf("%+v: want most of many messages proven fast, and some packets refused", *y)
			}
		})
	}
}

func run(t *testing.T, w *sim.World, until time.Duration) {
	t.Helper()
	if err := w.Run(sim.Real(until)); err != nil {
		t.Fatal(err)
	}
}

func TestExpiringLinkLosesWhatIsNotProvenInTime(t *testing.T) {
	expiring := config
	expiring.Expire = func(protocol.Message) time.Duration { return 20 * ms }
	for _, c := range []struct {
		delay sim.Delay
		want  bool
	}{{sim.Between(ms, 3*ms), true}, {sim.Between(25*ms, 30*ms), false}} {
		w := world(t, 2, Plain(expiring), func(s *sim.Config) { s.Link.Delay = c.delay })
		y := &tally{}
		w.Observe(y)
		run(t, w, 5*time.Second)
		if got := y.delivered > 0; got != c.want {
			t.Errorf("links of %v: %d messages delivered, want any %v", c.delay, y.delivered, c.want)
		}
	}
}

func TestBrokenPacketsAreRefused(t *testing.T) {
	for name, ports := range map[string]sim.NewPort{"plain": Plain(config), "sealed": Sealed(config)} {
		p := ports(sim.Boot{Self: 0, Members: 2, Inc: 1, Seed: 1}, func(protocol.Rank, []byte) {})
		var to protocol.Receive
		for _, packet := range [][]byte{nil, {1, 2, 3}, make([]byte, plainSize+100)} {
			if p.Receive(5, 1, packet, &to) {
				t.Errorf("%s: %d bytes of nothing were taken", name, len(packet))
			}
		}
	}
}

func TestMessageThatWaitedHasTheStampOfItsStep(t *testing.T) {
	var sent [][]byte
	a := Plain(config)(sim.Boot{Self: 0, Members: 2, Inc: 1}, func(_ protocol.Rank, b []byte) { sent = append(sent, append([]byte(nil), b...)) })
	a.Tick(100)
	a.Send(50, protocol.Ident{Rank: 0, Inc: 1}, 1, &rank.OK{})
	h, _ := parsePlain(sent[len(sent)-1])
	if h.Sent != 50 {
		t.Fatalf("stamped %v, want 50", h.Sent)
	}
}

// A machine learns that a packet came from an outdated start of a peer.
func TestOutdatedStartIsReported(t *testing.T) {
	c := config
	c.Outdated = func() protocol.Message { return &rank.OK{Seq: 5} }
	for name, kind := range map[string]func(Config) sim.NewPort{"plain": Plain, "sealed": Sealed} {
		ports := kind(c)
		var old, later, peer sim.Port
		var told []protocol.Receive
		toPeer := func(_ protocol.Rank, packet []byte) {
			var r protocol.Receive
			if peer.Receive(10, 0, packet, &r) {
				told = append(told, r)
			}
		}
		old = ports(sim.Boot{Self: 0, Members: 2, Inc: 3, Seed: 1}, toPeer)
		later = ports(sim.Boot{Self: 0, Members: 2, Inc: 5, Seed: 2}, toPeer)
		peer = ports(sim.Boot{Self: 1, Members: 2, Inc: 1, Seed: 3}, func(protocol.Rank, []byte) {})
		later.Tick(5)
		old.Tick(5)
		if len(told) != 1 || told[0].From.Inc != 3 || told[0].Message.Name() != "rank.OK" {
			t.Errorf("%s: received %v, want the report of a packet of incarnation 3", name, told)
		}
	}
}

func TestIncarnationThatIsLearntLateIsUsed(t *testing.T) {
	for name, kind := range map[string]func(Config) sim.NewPort{"plain": Plain, "sealed": Sealed} {
		var got []protocol.Ident
		ports := kind(config)
		var b sim.Port
		a := ports(sim.Boot{Self: 0, Members: 2, Inc: 0, Seed: 1}, func(_ protocol.Rank, packet []byte) {
			var r protocol.Receive
			if b.Receive(10, 0, packet, &r) {
				got = append(got, r.From)
			}
		})
		b = ports(sim.Boot{Self: 1, Members: 2, Inc: 4, Seed: 2}, func(_ protocol.Rank, packet []byte) { a.Receive(10, 1, packet, new(protocol.Receive)) })
		b.Tick(5)
		a.Send(6, protocol.Ident{Rank: 0, Inc: 9}, 1, &rank.OK{})
		if len(got) != 1 || got[0].Inc != 9 {
			t.Errorf("%s: heard from %v, want incarnation 9", name, got)
		}
	}
}
