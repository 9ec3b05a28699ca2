package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/sim"
)

const ms = time.Millisecond

// A note is the message of the machines in these tests.
type note struct{ n int }

func (m *note) Copy() protocol.Message { c := *m; return &c }
func (m *note) Name() string           { return "test.note" }

// A probe is a machine whose behaviour a test writes down. It keeps all that it was given.
type probe struct {
	boot  sim.Boot
	world **sim.World
	do    func(p *probe, now protocol.Time, ev protocol.Event) protocol.Effects
	got   []taken
}

// taken is one event as a probe saw it.
type taken struct {
	now   protocol.Time
	real  sim.Real
	ev    protocol.Event
	note  int // of a note: its number
	from  protocol.Ident
	delay time.Duration
}

func (p *probe) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	t := taken{now: now, real: (*p.world).Now(), ev: ev}
	if r, ok := ev.(*protocol.Receive); ok {
		t.note, t.from, t.delay = r.Message.(*note).n, r.From, r.Delay
	}
	p.got = append(p.got, t)
	if p.do == nil {
		out.Wake = protocol.Never
		return
	}
	drivetest.Append(out, p.do(p, now, ev))
}

// notes returns the numbers of the notes that a probe received.
func (p *probe) notes() []int {
	var all []int
	for _, t := range p.got {
		if _, ok := t.ev.(*protocol.Receive); ok {
			all = append(all, t.note)
		}
	}
	return all
}

// ticks returns the ticks that a probe got.
func (p *probe) ticks() []taken {
	var all []taken
	for _, t := range p.got {
		if _, ok := t.ev.(protocol.Tick); ok {
			all = append(all, t)
		}
	}
	return all
}

// A bench is a world of probes.
type bench struct {
	*sim.World
	t      testing.TB
	probes []*probe // the newest of each member
}

// newBench returns a world in which every member does as told; do may be nil.
func newBench(t testing.TB, c sim.Config, do func(p *probe, now protocol.Time, ev protocol.Event) protocol.Effects) *bench {
	t.Helper()
	if c.Members == 0 {
		c.Members = 2
	}
	b := &bench{t: t, probes: make([]*probe, c.Members)}
	c.Spawn = func(boot sim.Boot) (protocol.Machine, error) {
		p := &probe{boot: boot, world: &b.World, do: do}
		b.probes[boot.Self] = p
		return p, nil
	}
	b.World = newWorld(t, c)
	return b
}

// until runs the world.
func (b *bench) until(d time.Duration) {
	b.t.Helper()
	run(b.t, b.World, d)
}

// chatter makes member a send a numbered note to b every period.
func chatter(period time.Duration) func(p *probe, now protocol.Time, ev protocol.Event) protocol.Effects {
	var sent int
	var next protocol.Time
	return func(p *probe, now protocol.Time, ev protocol.Event) protocol.Effects {
		if p.boot.Self != 0 {
			return protocol.Effects{Wake: protocol.Never}
		}
		if _, ok := ev.(protocol.Start); ok {
			next = now
		}
		if now < next {
			return protocol.Effects{Wake: next}
		}
		sent++
		next = next.Add(period)
		return protocol.Effects{Wake: next, Send: []protocol.Envelope{{To: 1, Message: &note{sent}}}}
	}
}

// lines collects a trace as text.
type lines struct{ all []string }

func (l *lines) Observe(r *sim.Record) error {
	b, err := r.AppendJSON(nil)
	l.all = append(l.all, string(b))
	return err
}

// count returns how many lines a trace has of a kind.
type count map[protocol.Ev]int

func (c count) Observe(r *sim.Record) error { c[r.Ev]++; return nil }

func ExampleFault_String() {
	fmt.Println(sim.Fault{Kind: sim.Cut, A: 0, B: 1, For: time.Second})
	fmt.Println(sim.Fault{Kind: sim.Crash, A: sim.TheLeader, Disk: sim.Lost, For: 20 * ms})
	fmt.Println(sim.Fault{Kind: sim.Partition, Side: protocol.NewSet(0, 2), For: time.Second})
	fmt.Println(sim.Fault{Kind: sim.Slow, A: protocol.Nobody, B: 3, Amount: int64(250 * ms)})
	fmt.Println(sim.Fault{Kind: sim.Lose, A: 1, B: 3, Amount: int64(sim.Percent(30))})
	// Output:
	// cut a b for 1s
	// crash leader disk lost for 20ms
	// partition {a c} for 1s
	// slow * d by 250ms
	// lose b d 30%
}
