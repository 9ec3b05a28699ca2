package lab

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/stable"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
)

// exact is δ, which a message may take on a good link and which is the period as well. Clocks are right and timers on time;
// a hair is what is left of a length of time that must not be reached.
const (
	exact = 20 * time.Millisecond
	hair  = time.Microsecond
)

// A schedule is a schedule that has a leader demoted as long after its last bad link as we know how to. The candidates are u, l and
// p: round 1 is that of l, 2 that of p, and 3 that of u.
//
//	before s   v and u are cut off, and have come to round 3; the others are in round 1
//	s          what u says now is the last on a link of p that is lost
//	s+δ        u says OK, and dies of it: only v hears it, δ later, and waits for the next until s+4δ
//	s+3δ       w has not heard l for 2δ, and starts round 2. p says OK, and again δ later.
//	s+4δ       the START of w comes to v, who tells it of round 3, and dies. All that are alive trust p.
//	s+5δ       w hears of round 3, warns the others, and dies of it: only l gets the message
//	s+6δ       l demotes p
//
// With a gate it is the same: what v and u ask is answered before s, but not by p, whose round they pass over. In Fig. 3 there are
// no warnings: what w says pulls l along, who tells only the next and dies, and so on, until it is the turn of p.
type schedule struct {
	variant     stable.Variant
	ping, gated bool
	n           int

	world *sim.World
	// begun is when the last act began, zero before, and s as above.
	begun, s sim.Real
	// chance, if not nil, changes the last act a little: who dies says more or less before it does, and messages come early.
	chance *rand.Rand
}

// The cast: v, u, l, w and, behind all others, p.
const (
	scheduleV protocol.Rank = iota
	scheduleU
	scheduleL
	scheduleW
)

func (p *schedule) leader() protocol.Rank { return protocol.Rank(p.n - 1) }

func (p *schedule) apart(r protocol.Rank) bool { return r == scheduleV || r == scheduleU }

// starts is when w starts the round of p.
func (p *schedule) starts() sim.Real {
	return p.s.Add(3*exact - hair)
}

// lastHeard is when w hears of l for the last time: it waits, and asks if it is to.
func (p *schedule) lastHeard() sim.Real {
	at := p.starts().Add(-2*exact - 1)
	if p.ping {
		at = at.Add(-2*exact - 1)
	}
	return at
}

// next is the member that another one warns of round 3, the last in rank order: those before it are dead.
func (p *schedule) next(r protocol.Rank) protocol.Rank {
	switch r {
	case scheduleW:
		return scheduleL
	case scheduleL:
		return scheduleW + 1
	}
	return r + 1
}

// crashingSender dies while it speaks: of what it says only the first part is sent.
type crashingSender struct {
	protocol.Machine
	schedule *schedule
	self     protocol.Rank
}

func (m *crashingSender) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.Machine.Step(now, ev, out)
	p := m.schedule
	if p.begun == 0 || p.world.Now() <= p.s || m.self == p.leader() || len(out.Send) == 0 {
		return
	}
	to := protocol.Nobody
	round, start := roundOf(out.Send[0].Message)
	switch {
	case m.self == scheduleU:
		to = scheduleV
	case m.self == scheduleV && start:
		to = scheduleW
	case !p.apart(m.self) && round == 3:
		to = p.next(m.self)
	default:
		return
	}
	for i, e := range out.Send {
		if e.To == to {
			out.Send = out.Send[:p.sentBefore(i+1, len(out.Send))]
			break
		}
	}
	p.world.At(p.world.Now(), func() { p.world.Begin(sim.Fault{Kind: sim.Crash, A: m.self, B: protocol.Nobody}) })
}

// sentBefore is how many of its messages a member has sent when it dies.
func (p *schedule) sentBefore(planned, all int) int {
	if p.chance != nil && p.chance.IntN(4) == 0 {
		return p.chance.IntN(all + 1)
	}
	return planned
}

// roundOf returns the round that a message is about, and whether it is a START.
func roundOf(m protocol.Message) (round uint64, start bool) {
	switch m := m.(type) {
	case *stable.OK:
		return m.Round, false
	case *stable.START:
		return m.Round, true
	case *stable.ALERT:
		return m.Round, false
	}
	return 0, false
}

// intercept decides what becomes of a message.
func (p *schedule) intercept(l sim.Intercepted) bool {
	if p.chance != nil && p.begun != 0 && p.world.Now() > p.s && p.chance.IntN(16) == 0 {
		p.world.Deliver(l, p.world.Now().Add(1+time.Duration(p.chance.Int64N(int64(exact)))))
		return true
	}
	now, from, to := p.world.Now(), l.From.Rank, l.To
	round, start := roundOf(l.Message)
	_, ok := l.Message.(*stable.OK)
	question := !ok && !start && round == 0 // PING or PONG
	if p.begun == 0 && now > sim.Real(time.Second) && from == scheduleU && ok && round == 3 {
		p.begun, p.s = now, now.Add(3*exact)
	}
	switch {
	case now < sim.Real(500*time.Millisecond):
		return false
	case ok && round == 0:
		return true // nobody hears u until it has come to its next round
	case p.begun == 0:
		// Others answer v and u, so that there is a quorum, but p does not: its round is passed over.
		return p.apart(from) != p.apart(to) && (!question || from == p.leader() || to == p.leader())
	case round == 3 && now > p.s: // what those say who die of it
		p.world.Deliver(l, now.Add(exact))
	case from == scheduleW && to == scheduleV && start:
		p.world.Deliver(l, now.Add(exact))
	case from == p.leader() && to == scheduleV && !question:
		p.world.Deliver(l, now.Add(exact))
	case p.apart(from) != p.apart(to) && (now <= p.s && !question || from != p.leader() && to != p.leader()):
		// lost
	case from == scheduleL && to == scheduleW && ok && round == 1:
		switch last := p.lastHeard(); {
		case now.Add(exact) < last:
			return false
		case now <= last:
			p.world.Deliver(l, last)
		}
	default:
		return false
	}
	return true
}

// demoted returns the whole number of δ after which the leader was demoted: the largest k for which the checker complains.
func demoted(most int, run func(k int) error) (int, error) {
	for k := range most {
		err := run(k + 1)
		var v *check.Violation
		if err != nil && !errors.As(err, &v) {
			return 0, err
		}
		if err == nil {
			return k, nil
		}
	}
	return most, nil
}

// run plays the schedule and checks that no leader is demoted that has been accessible for kδ.
func (p schedule) run(k int) error {
	w, err := sim.New(sim.Config{Members: p.n, Seed: 1, Messages: true, Link: sim.Link{Delay: sim.Between(1, 2)}, Intercept: p.intercept,
		Spawn: func(b sim.Boot) (protocol.Machine, error) {
			c := stable.Config{Self: b.Self, Members: b.Members, Inc: b.Inc, Variant: p.variant, Ping: p.ping,
				Candidates: protocol.NewSet(scheduleU, scheduleL, p.leader()), Period: exact, Delta: exact, Expiry: exact, Rho: 0}
			if p.gated {
				c.Gate = protocol.Majority(b.Members)
			}
			m, err := stable.New(c)
			return &crashingSender{m, &p, b.Self}, err
		}})
	if err != nil {
		return err
	}
	p.world = w
	w.Observe(check.NewStays(w, check.Links{Within: exact}, time.Duration(k)*exact))
	return w.Run(sim.Real(3 * time.Second))
}

// A slowSchedule is the same for Fig. 2, where nothing is lost. Its first two members are candidates; l leads, and p is to.
//
//	0         l says OK, and dies of it. w hears it at once, d as late as on a good link, p a hair later than that.
//	2δ        w starts the round of p and tells it. That, too, is a hair too late when it comes; from then on all links of p are good.
//	3δ        p hears it, and says OK
//	4δ        which takes δ to w: too late, w tells p to stop, and dies. p has said OK again, and all that are alive trust it.
//	5δ        p stops, a hair less than 3δ after it has become accessible
type slowSchedule struct {
	world *sim.World
	begun sim.Real
}

const (
	slowL protocol.Rank = iota
	slowP
	slowW
	slowD
)

// intercept decides how long a message takes.
func (p *slowSchedule) intercept(l sim.Intercepted) bool {
	now, from, to := p.world.Now(), l.From.Rank, l.To
	_, ok := l.Message.(*stable.OK)
	if p.begun == 0 && now > sim.Real(500*time.Millisecond) && from == slowL {
		p.begun = now
		p.world.At(now, func() { p.world.Begin(sim.Fault{Kind: sim.Crash, A: slowL, B: protocol.Nobody}) })
	}
	delay := exact
	switch {
	case from == slowL && to == slowW, from == slowP && to == slowD:
		return false
	case from == slowL && to == slowP && p.begun != 0:
		delay += 3 * hair
	case from == slowW && to == slowP && !ok && now < p.begun.Add(3*exact):
		delay += 2 * hair
	case from == slowW && to == slowP:
		p.world.At(now, func() { p.world.Begin(sim.Fault{Kind: sim.Crash, A: slowW, B: protocol.Nobody}) })
	}
	p.world.Deliver(l, now.Add(delay))
	return true
}

// run plays the schedule and checks that no leader is demoted that has been accessible for kδ.
func (p slowSchedule) run(k int) error {
	w, err := sim.New(sim.Config{Members: 4, Seed: 1, Messages: true, Link: sim.Link{Delay: sim.Between(1, 2), Reliable: true}, Intercept: p.intercept,
		Spawn: func(b sim.Boot) (protocol.Machine, error) {
			return stable.New(stable.Config{Self: b.Self, Members: b.Members, Inc: b.Inc, Variant: stable.Reliable,
				Candidates: protocol.NewSet(slowL, slowP), Period: exact, Delta: exact, Expiry: exact, Rho: 0})
		}})
	if err != nil {
		return err
	}
	p.world = w
	w.Observe(check.NewStays(w, check.Links{Within: exact, Reliable: true}, time.Duration(k)*exact))
	return w.Run(sim.Real(3 * time.Second))
}

// perturbed runs the schedule with changes that the seed draws.
func (p schedule) perturbed(seed uint64, k int) error {
	p.chance = rand.New(rand.NewPCG(seed, 0xdead))
	return p.run(k)
}
