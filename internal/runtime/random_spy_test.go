package runtime_test

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime"
)

// A spy is a machine of which the test sees every Step.
type spy struct {
	process *process
	inner   protocol.Machine
	channel runtime.Channel
	// inc is the incarnation that an on-demand machine was made for.
	inc protocol.Inc
}

// incarnateSpy is the spy of the council's machine, and closableSpy that of others.
type (
	incarnateSpy struct{ spy }
	closableSpy  struct{ spy }
)

func (s *incarnateSpy) Incarnation() protocol.Inc {
	return s.inner.(protocol.Incarnate).Incarnation()
}
func (s *incarnateSpy) Votes() protocol.Time { return s.inner.(protocol.Incarnate).Votes() }
func (s *incarnateSpy) Closed() bool         { return s.inner.(protocol.Closable).Closed() }
func (s *closableSpy) Closed() bool          { return s.inner.(protocol.Closable).Closed() }

// A durable message carries along how many records must be on disk before it leaves.
type durable struct {
	protocol.Message
	records int
}

func (d *durable) Copy() protocol.Message { return &durable{d.Message.Copy(), d.records} }

// open returns the message itself, and sees to it that it has not left too early.
func (p *process) open(m protocol.Message) protocol.Message {
	d, ok := m.(*durable)
	if !ok {
		return m
	}
	if !p.file.has(d.records) {
		p.council.ledger.fail("DurableBeforeSend", "%v sends %s before record %d is on disk", p, m.Name(), d.records)
	}
	return d.Message
}

func (s *spy) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	p := s.process
	switch e := ev.(type) {
	case *protocol.Receive:
		r := *e
		r.Message = p.open(e.Message)
		ev = &r
	case protocol.Persisted:
		if !p.file.confirm() {
			p.council.ledger.fail("ConfirmedIsDurable", "%v confirms a record that is not on disk", p)
		}
	case protocol.Stopped:
		if t := p.tenancy(e.Group); t != nil && t.running.Load() && !isClosed(t.lease.Over()) {
			p.council.ledger.fail("NothingReleasedUnderAProgram", "%v gives %s up while its program runs", p, e.Group)
		}
	}
	if s.channel != runtime.Council && p.loop.Stats().Inc() != s.inc {
		p.council.ledger.fail("MachinesBelongToAnIncarnation", "%v speaks as %d, and a machine of %d takes %T", p, p.loop.Stats().Inc(), s.inc, ev)
	}
	s.inner.Step(now, ev, out)
	if len(out.Persist) > 0 {
		p.file.add(out.Persist)
	}
	var last protocol.Message
	var tagged *durable
	for i := range out.Send {
		e := &out.Send[i]
		if !e.Durable {
			continue
		}
		if e.Message != last {
			last, tagged = e.Message, &durable{e.Message, p.file.given()}
			p.council.ledger.count("durable messages")
		}
		e.Message = tagged
	}
}

// A spyPort sees every message that leaves.
type spyPort struct {
	*runtime.NetPort
	process *process
}

func (s *spyPort) Send(now protocol.Time, to protocol.Rank, channel runtime.Channel, m protocol.Message) {
	s.NetPort.Send(now, to, channel, s.process.open(m))
}

// A pausingSink holds the loop up between the effects of a Step, as the scheduler of a busy host does, so that programs look then.
type pausingSink struct {
	*runtime.GroupTable
	process *process
}

func (s *pausingSink) pause() {
	p := s.process
	p.mirror.compare(p)
	p.council.ledger.check()
	if isClosed(p.council.calm) {
		return
	}
	switch n := p.pauses.IntN(200); {
	case n == 0:
		pass(time.Duration(p.pauses.Int64N(int64(lease))))
	case n < 40:
		pass(time.Duration(1 + p.pauses.Int64N(int64(time.Millisecond))))
	}
}

func (s *pausingSink) View(now protocol.Time, v *protocol.View) {
	s.GroupTable.View(now, v)
	s.pause()
}

func (s *pausingSink) Horizon(now protocol.Time, h protocol.Horizon) {
	s.GroupTable.Horizon(now, h)
	s.pause()
}

func (s *pausingSink) Published(now protocol.Time) {
	s.GroupTable.Published(now)
	s.pause()
}

// A mirrored is what a mirror shows: the ends of horizons, and for each lease the horizon that it lies behind or a fixed end.
type mirrored struct {
	horizons map[protocol.HorizonID]*protocol.Time
	leases   map[protocol.Group]mirroredLease
}

type mirroredLease struct {
	token uint64
	end   *protocol.Time
}

func newMirrored() *mirrored {
	return &mirrored{make(map[protocol.HorizonID]*protocol.Time), make(map[protocol.Group]mirroredLease)}
}

func (m *mirrored) horizon(h protocol.HorizonID) *protocol.Time {
	if m.horizons[h] == nil {
		m.horizons[h] = new(protocol.Time)
	}
	return m.horizons[h]
}

func (m *mirrored) Extended(h protocol.HorizonID, until protocol.Time) {
	end := m.horizon(h)
	*end = max(*end, until)
}

func (m *mirrored) Dropped(h protocol.HorizonID) { delete(m.horizons, h) }

func (m *mirrored) Behind(g protocol.Group, token uint64, h protocol.HorizonID) {
	m.leases[g] = mirroredLease{token, m.horizon(h)}
}

func (m *mirrored) Fixed(g protocol.Group, token uint64, until protocol.Time) {
	m.leases[g] = mirroredLease{token, &until}
}

func (m *mirrored) Ended(g protocol.Group, token uint64) {
	if m.leases[g].token == token {
		m.leases[g] = mirroredLease{token, new(protocol.Time)}
	}
}

// compare holds the mirror to what the leases themselves show. It is called on the loop, so that neither changes meanwhile.
func (m *mirrored) compare(p *process) {
	for _, g := range quorumGroups {
		t, shown := p.tenancy(g), m.leases[g]
		if t == nil || t.lease.Token() != shown.token || isClosed(t.lease.Over()) {
			continue // a lease that is over may have a successor with the same token
		}
		if got, want := max(0, *shown.end), max(0, t.lease.Until()); got != want {
			p.council.ledger.fail("MirrorAgrees", "%v shows %s until %v, and its lease ends at %v: %v", p, g, got, want, t.lease.Cause())
		}
		p.council.ledger.count("mirrored ends")
	}
}
