package host

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/tenure"
	"github.com/regentproject/regent/sim"
)

// A room is a group that hosts lead, a local or an eventual one, on one host: the agent lets programs have their turns while its host leads. It drives
// a seat of package tenure, and a tenure for each turn. It decides nothing.
type room struct {
	h     *host
	local bool
	// agent is the one that runs, and seat its own: another agent begins with an empty one.
	agent *process
	seat  tenure.Seat
	// leads says that the host leads. A local leadership has a lease until an instant, and is given up, once it was lost, when no program has a turn.
	leads, losing bool
	until         protocol.Time
	// rests is before when the host does not lead: a local one that was started again waits for what it has promised.
	rests    protocol.Time
	programs [3]*process
	// line are those that wait, in the order in which they came, and now has the turn.
	line []*occupant
	now  *occupant
	// last is the number of the last turn, and idle since when the host leads, a program waits, and none has a turn.
	last uint64
	idle protocol.Time
	// turns counts those that began, and losses those whose host lost its leadership meanwhile.
	turns, losses int
}

// An occupant is one campaign of a program in a room, which gives up need of the time that it could lead.
type occupant struct {
	*candidacy
	turn uint64
	need time.Duration
	// lost is when the host lost the leadership of its turn; Never: it has not.
	lost protocol.Time
}

// PlaySeats plays programs in groups that hosts lead, and returns the first complaint of a checker; empty: none.
func PlaySeats(seed uint64, traced bool) (failure string, trace []string, turns, losses int) {
	w := &World{Dice: sim.NewDice(seed, 3), pages: sim.NewDice(seed, 4), now: protocol.Time(time.Second), cover: new(Coverage), tracing: traced}
	w.check.w, w.council.w = w, w
	h := &host{w: w, kind: clientRole, agentUID: root}
	w.hosts = append(w.hosts, h)
	r := &room{h: h, local: w.one(2), idle: protocol.Never, until: -1 << 63}
	start := w.now
	r.step()
	r.renew()
	r.look()
	for range 4 + w.N(24) {
		w.at(start.Add(w.Between(0, faultTime)), r.fault)
	}
	w.run(start.Add(faultTime))
	w.quieten()
	w.run(start.Add(faultTime + calmTime))
	return w.check.failure, w.trace, r.turns, r.losses
}

// step starts what is missing, and lets the agent look at the seat if it is scheduled.
func (r *room) step() {
	h, w := r.h, r.h.w
	w.after(w.between(2, 12), r.step)
	if h.suspended {
		return
	}
	if h.agent == nil {
		if w.one(4) {
			h.startAgent()
			r.agent, r.seat, r.line, r.now, r.leads, r.losing, r.last = h.agent, tenure.Seat{}, nil, nil, false, false, 0
			r.rests = w.now.Add(leaseTime + 2*reaction)
		}
		return
	}
	for i, p := range r.programs {
		if p == nil || p.dead {
			r.programs[i] = h.fork(nil, alice)
		}
	}
	if !h.runs(h.agent) {
		return
	}
	for _, p := range r.programs {
		if h.runs(p) && r.free(p) && w.one(3) {
			r.campaign(p)
		}
	}
	switch {
	case r.leads && r.local && w.now >= r.until:
		r.lose(protocol.LeaseExpired)
	case r.losing && !r.seat.Taken():
		w.check.givenUp(r)
		r.losing = false
		r.rests = w.now.Add(w.between(1, 100))
	case !r.leads && !r.losing && w.now >= r.rests && w.one(3):
		w.note("the host leads")
		r.leads, r.until = true, w.now.Add(leaseTime)
		r.seat.Lead()
	case r.leads && !w.calm && w.one(60):
		r.lose(protocol.Suspected)
	}
	r.next()
}

// free says that a program waits for no turn and has none, at the agent that runs.
func (r *room) free(p *process) bool {
	for _, a := range p.party {
		if a.candidacy.top.p == r.agent && !(a.candidacy.top.finished() && a.finished()) {
			return false
		}
	}
	return true
}

// campaign has a program wait for a turn.
func (r *room) campaign(p *process) {
	h, w := r.h, r.h.w
	s := &candidacy{h: h, shape: w.shape(), room: r}
	base := tenure.Config{Guard: guardTime, Grace: graceTime, HookWithin: hookTime, Answer: answer, KillWithin: reaction}
	top := base
	top.Grace, top.Margin, top.Lower = agentGrace, marginTime, tenure.Program
	if w.one(4) {
		top.Guard = leaseTime - 40*ms // which often does not fit what is left
	}
	if s.shape.heartbeat {
		top.Heartbeat = 120 * ms
	}
	s.top = h.party(h.agent, agentRole, s, top, nil)
	s.client = h.party(p, clientRole, s, base, nil)
	if s.shape.heartbeat {
		s.client.beat()
	}
	r.line = append(r.line, &occupant{candidacy: s, need: top.Guard + top.Margin, lost: protocol.Never})
}

// left returns how long a program may lead by what is known now.
func (r *room) left() time.Duration {
	if r.local {
		return r.until.Sub(r.h.w.now)
	}
	return leaseTime
}

// next lets the first program that waits, and fits, have its turn.
func (r *room) next() {
	w := r.h.w
	for i, o := range r.line {
		if o.top.m.State() != tenure.Waiting {
			r.line = append(append([]*occupant(nil), r.line[:i]...), r.line[i+1:]...) // it waits no more
			return
		}
		turn, ok := r.seat.Take(r.left(), o.need)
		if !ok {
			continue
		}
		w.check.seated(r, o, turn)
		o.turn, r.now, r.last = turn, o, turn
		r.turns++
		r.line = append(append([]*occupant(nil), r.line[:i]...), r.line[i+1:]...)
		o.life = &life{token: turn, host: r.h, candidacy: o.candidacy, began: w.now, electedAt: protocol.Never, askedAt: protocol.Never}
		w.note("turn %d begins", turn)
		o.top.above(tenure.Event{Kind: tenure.Elected, Token: turn, At: w.now, Until: w.now.Add(r.left())}, 0)
		return
	}
}

// renew renews the lease of the host, and the turn with it.
func (r *room) renew() {
	w := r.h.w
	w.after(renewTime, r.renew)
	if r.h.agent == nil || r.agent != r.h.agent || !r.h.runs(r.agent) {
		return
	}
	if r.leads && r.local && w.now < r.until {
		r.until = w.now.Add(leaseTime)
	}
	if r.now != nil {
		r.now.top.above(tenure.Event{Kind: tenure.Extended, Until: w.now.Add(r.left())}, 0)
	}
}

// lose takes the leadership from the host. The program that has a turn must stop.
func (r *room) lose(why protocol.CauseCode) {
	w := r.h.w
	w.note("the host leads no more: %v", why)
	r.leads, r.losing = false, r.local
	r.rests = w.now.Add(w.between(0, 60))
	if r.now != nil && r.now.lost == protocol.Never {
		r.now.lost = w.now
		r.losses++
	}
	if r.seat.Lose() == 0 || r.now == nil {
		return
	}
	ev := tenure.Event{Kind: tenure.Stop, Cause: protocol.Cause{Code: why}}
	if r.left() <= 0 {
		ev.Kind = tenure.Lost
	}
	r.now.top.above(ev, 0)
}

// over ends the turn of a tenure that is over. The end may be reported again, when its cause is corrected.
func (r *room) over(s *candidacy) {
	if s.top.p != r.agent || s.life == nil {
		return
	}
	s.top.task(r.h.w.latency(), func() {
		r.seat.Leave(s.life.token)
		if r.now != nil && r.now.candidacy == s {
			r.now = nil
		}
	})
}

// fault makes something go wrong.
func (r *room) fault() {
	h, w := r.h, r.h.w
	p := r.programs[w.N(len(r.programs))]
	if r.now != nil && !w.one(4) {
		p = r.now.client.p
	}
	length := w.Between(ms, 900*ms>>w.N(5))
	if h.agent == nil || p == nil {
		return
	}
	kind := w.N(9)
	w.note("fault %d for %v", kind, length)
	switch kind {
	case 0, 1:
		h.slay(w.Dice, p)
	case 2, 3:
		h.pause(length, p)
	case 4:
		h.slay(w.Dice, h.agent)
	case 5:
		h.pause(length, h.agent)
	case 6:
		h.suspend(length)
	case 7:
		h.starved = true
		w.after(length, h.fed)
	case 8:
		if r.now != nil {
			r.now.top.side(tenure.Event{Kind: tenure.Resign, Cause: protocol.Cause{Code: protocol.Resigned}}, 0)
		}
	}
}
