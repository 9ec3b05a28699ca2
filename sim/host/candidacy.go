package host

import (
	"slices"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/tenure"
)

// newHost makes a host that looks after its own parties.
func (w *World) newHost(r protocol.Rank) *host {
	h := &host{w: w, rank: r, cgroups: w.one(2), hides: w.one(3), ready: w.one(2), learns: w.one(2), agentUID: []int{root, root, alice, carol}[w.N(4)]}
	if w.one(3) {
		h.crowd = w.N(longestWalk)
	}
	h.kind = []role{runnerRole, runnerRole, runnerRole, clientRole, memberRole}[w.N(5)]
	w.after(w.between(0, 20), h.supervise)
	w.after(w.between(0, 60), h.renew)
	return h
}

// supervise starts what is missing, as systemd does, and campaigns when the last candidacy is over.
func (h *host) supervise() {
	w := h.w
	w.after(w.between(10, 80), h.supervise)
	if h.suspended || w.closing {
		return
	}
	if h.agent == nil {
		h.startAgent()
		return
	}
	switch h.kind {
	case runnerRole:
		if h.runner == nil {
			h.runner = h.fork(nil, alice)
			h.runner.realtime, h.runner.adopts = h.ready, true
		}
		if h.keeper == nil && h.runs(h.runner) {
			h.keeper = h.fork(h.runner, alice)
			h.keeper.setsid()
			h.keeper.realtime, h.keeper.adopts, h.keeper.helper = h.ready, true, true
		}
	case clientRole:
		if h.client == nil {
			h.client = h.fork(nil, alice)
		}
	}
	if h.free() {
		h.campaign()
	}
}

// free says that the last candidacy is over, and that all are there for the next one.
func (h *host) free() bool {
	if s := h.candidacy; s != nil {
		for _, a := range []*party{s.top, s.runner, s.client} {
			if a != nil && !a.p.dead && !a.finished() {
				return false
			}
		}
	}
	switch h.kind {
	case runnerRole:
		return h.runs(h.agent) && h.runs(h.runner) && h.keeper != nil
	case clientRole:
		return h.runs(h.agent) && h.runs(h.client)
	}
	return h.runs(h.agent)
}

// finished says that a party is done with its tenure, and with what it looked for.
func (a *party) finished() bool { return a.m.State() == tenure.Over && (a.ref == nil || a.forgot) }

// campaign begins a candidacy.
func (h *host) campaign() {
	w := h.w
	s := &candidacy{h: h, shape: w.shape()}
	h.candidacy = s
	base := tenure.Config{Guard: guardTime, Grace: graceTime, HookWithin: hookTime, Answer: answer, KillWithin: reaction}
	top := base
	top.Grace, top.Margin = agentGrace, marginTime
	switch h.kind {
	case memberRole:
		s.top = h.party(h.agent, memberRole, s, base, nil)
	case clientRole:
		top.Lower, top.Shown = tenure.Program, s.shows()
		if s.shape.heartbeat {
			top.Heartbeat = 120 * ms
		}
		s.top = h.party(h.agent, agentRole, s, top, nil)
		s.client = h.party(h.client, clientRole, s, base, nil)
		if s.shape.heartbeat {
			s.client.beat()
		}
	case runnerRole:
		ref := reference{mark: w.newSecret()}
		ref.Runner, ref.Keeper, ref.UID = h.runner.Identity, h.keeper.Identity, alice
		if h.cgroups {
			ref.cgroup = w.newSecret()
			h.made = append(h.made, made{ref.cgroup, s})
		}
		a, r, k := ref, ref, ref
		top.Lower, top.Hooks, top.Notes, top.Shown = tenure.Party, s.shape.hooks, true, s.shows()
		base.Lower, base.Hooks = tenure.Tree, s.shape.hooks
		s.top = h.party(h.agent, agentRole, s, top, &a)
		s.runner = h.party(h.runner, runnerRole, s, base, &r)
		base.Backup = true
		s.keeper = h.party(h.keeper, keeperRole, s, base, &k)
	}
}

func (w *World) newSecret() uint64 { w.secret++; return w.secret }

// beat sends signs of life for as long as the client runs.
func (a *party) beat() {
	if a.p.dead || a.m.State() == tenure.Over {
		return
	}
	if a.h.runs(a.p) {
		a.up(tenure.Event{Kind: tenure.Pulse})
	}
	a.h.w.after(40*ms, a.beat)
}

// died tells those that watch a process of its death.
func (h *host) died(p *process) {
	for _, q := range []**process{&h.agent, &h.runner, &h.keeper, &h.client} {
		if *q == p {
			*q = nil
		}
	}
	w := h.w
	for _, a := range p.party {
		s := a.candidacy
		switch {
		case a.role == agentRole:
			for _, below := range []*party{s.runner, s.keeper, s.client} {
				if below != nil && (below == s.keeper || !s.hungUp) {
					below.above(tenure.Event{Kind: tenure.UpperGone}, w.latency())
				}
			}
		case a.role == memberRole || a != s.runner && a != s.client && a != s.keeper:
		case a == s.keeper:
			s.top.side(tenure.Event{Kind: tenure.KeeperDied}, w.latency())
		default:
			if !s.hungUp {
				s.top.side(tenure.Event{Kind: tenure.ConnectionLost}, w.latency())
			}
			s.top.side(tenure.Event{Kind: tenure.ProgramDied}, w.latency())
			if s.keeper != nil {
				s.keeper.side(tenure.Event{Kind: tenure.ProgramDied}, w.latency())
			}
		}
	}
	for _, a := range h.old {
		switch {
		case a.p.dead:
		case a.line.runner == p:
			a.side(tenure.Event{Kind: tenure.ProgramDied}, w.latency())
		}
	}
}

// startAgent starts an agent, which reads the notes of the one before.
func (h *host) startAgent() {
	w := h.w
	h.agent = h.fork(nil, h.agentUID)
	h.agent.realtime = true
	h.old = slices.DeleteFunc(h.old, func(a *party) bool { return a.p.dead })
	h.notes = slices.DeleteFunc(h.notes, func(n *note) bool { return n.half })
	for _, n := range h.notes {
		c := tenure.Config{Lower: tenure.Party, Guard: guardTime, KillWithin: reaction}
		s := &candidacy{h: h, life: n.ref.life}
		ref := *n.ref
		ref.orphan = true
		a := h.party(h.agent, agentRole, s, c, &ref)
		s.top, a.line = a, n
		h.old = append(h.old, a)
		a.above(tenure.Event{Kind: tenure.Found, Until: w.now.Add(leaseTime)}, 0)
		if n.runner.dead {
			a.side(tenure.Event{Kind: tenure.ProgramDied}, 0)
		}
	}
}
