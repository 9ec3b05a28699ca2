package demo

import (
	"fmt"
	"slices"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/roster"
)

// actions is what the page offers to do to real processes.
var actions = []web.Action{
	{Verb: "crash", On: "member", Label: "Crash", Help: "end its process without a word (kill -9)", Key: "c", If: alive, Grave: true},
	{Verb: "start", On: "member", Label: "Start", Help: "start its process again", Key: "s", If: []string{"down"}},
	{Verb: "pause", On: "member", Label: "Pause", Help: "stop its process in its tracks (SIGSTOP)", Key: "p", If: []string{"up", "joining"}, Grave: true},
	{Verb: "resume", On: "member", Label: "Resume", Help: "let its process go on (SIGCONT)", Key: "r", If: []string{"paused"}},
	{Verb: "cut", On: "member", Label: "Cut off", Help: "cut off from all others, each on its own", Key: "x", Grave: true},
	{Verb: "part", On: "member", Label: "Cut off together", Help: "cut off from all others, but not from one another", Key: "k", Grave: true},
	{Verb: "slow", On: "member", Label: "Slow down", Help: "delay all that goes to and from it", Key: "d"},
	{Verb: "heal", On: "member", Label: "Heal", Help: "mend all its links", Key: "h"},
	{Verb: "link-cut", On: "link", Label: "Cut", Help: "let nothing through, either way", Key: "x", Grave: true},
	{Verb: "link-slow", On: "link", Label: "Slow down", Help: "delay everything, either way", Key: "d"},
	{Verb: "link-heal", On: "link", Label: "Heal", Help: "make it as good as new", Key: "h"},
	{Verb: "resign", On: "group", Label: "Resign", Help: "make the leader give the group up", Key: "g"},
	{Verb: "transfer", On: "group", Label: "Hand over to", Help: "make the leader hand the group over"},
	{Verb: "remove", On: "member", Label: "Remove", Help: "remove from the council, dead or alive", Key: "-", If: []string{"up", "joining", "paused", "down"}, Grave: true},
	{Verb: "add", On: "all", Label: "Add a member", Help: "start another process, and add it to the council", Key: "+"},
	{Verb: "cancel", On: "all", Label: "Cancel the change", Help: "end the running change of the council: votes stay as they are", Key: "z"},
	{Verb: "mend", On: "all", Label: "Mend everything", Help: "heal all links, resume and start all members", Key: "m"},
}

var alive = []string{"up", "joining", "paused"}

// state is everything as the page shows it.
func (s *demonstration) state() *web.State {
	at := s.since(cluster.Now())
	st := &web.State{About: web.About{Kind: "demo", Began: s.began.UnixMilli(), Title: fmt.Sprintf("%d real processes on this host", len(s.model.names)),
		Fast: s.Timing.Delay, Actions: actions}, Log: incidents(s.model.log)}
	if c := s.model.council.now; c != nil {
		st.About.Council = web.CouncilOf(c, s.model.council.since)
		st.About.Council.FileDiffers = "" // the lists that processes are started with are nobody's files
	}
	st.About.Actions = s.offered()
	if s.model.overlap > 0 {
		st.About.Alarm = fmt.Sprintf("two programs led one group at one instant, for %v: this must never be, please report it", s.model.overlap)
	}
	for _, n := range s.model.names {
		st.Members = append(st.Members, s.member(n))
		st.Links = append(st.Links, s.links(n)...)
	}
	for _, g := range s.model.elections {
		st.Groups = append(st.Groups, g.show(at, s.model))
		st.Tenures = append(st.Tenures, g.tenures(at, s.model)...)
	}
	return st
}

// offered is what the page offers now.
func (s *demonstration) offered() []web.Action {
	c := s.model.council.now
	running := c != nil && c.Goal != nil
	fixed := s.errFixed() != nil
	return slices.DeleteFunc(slices.Clone(actions), func(a web.Action) bool {
		return fixed && (a.Verb == "add" || a.Verb == "remove") || !running && a.Verb == "cancel"
	})
}

func (s *demonstration) member(name string) web.Member {
	r := s.model.members[name]
	m := web.Member{Name: name, State: web.Joining}
	switch state, _ := s.cluster.State(name); {
	case state == "gone":
		m.State = web.Down
	case state == "paused":
		m.State = web.Paused
	case r.joined:
		m.State = web.Up
	}
	m.Problem = r.failed
	s.place(&m)
	if st := r.status; st != nil && m.State != web.Down {
		m.Incarnation, m.Leading, m.Realtime = st.Incarnation, st.Leading, st.Realtime
		m.PacketsIn, m.PacketsOut = st.PacketsIn, st.PacketsOut
		m.Pauses = web.PausesOf(st, s.cluster.Timing.Tolerates())
		switch {
		case st.Waiting != "":
			m.Problem = st.Waiting
		case st.Disk != "":
			m.Problem = st.Disk
		case st.ClockFault:
			m.Problem = "its clock runs at another rate than those of the others"
		}
	}
	return m
}

// place shows what the council says of a member, and how far it has got by its own word.
func (s *demonstration) place(m *web.Member) {
	c := &s.model.council
	if _, ok := c.removed[m.Name]; ok {
		m.State = web.Removed
		return
	}
	if c.isInvited(m.Name) && m.Problem == "" {
		m.Problem = "waits until the council lists it"
	}
	if c.now == nil {
		return
	}
	m.Take(c.now)
	own := s.model.members[m.Name].council
	if own == nil {
		return
	}
	m.Number = &own.Number
	if !c.now.Running() {
		return
	}
	m.Adopted = own.Number == c.now.Number
	m.Settled = m.Adopted && own.Settled
	m.Accepted = slices.ContainsFunc(own.Members, func(x roster.Member) bool { return x.Name == m.Name && x.Accepted })
}

// links returns how a member hears the others: what was done to the links, and what it measured itself.
func (s *demonstration) links(to string) []web.Link {
	heard := make(map[string]regent.PeerStatus)
	for _, p := range s.model.members[to].peers {
		heard[p.Name] = p
	}
	var all []web.Link
	for _, from := range s.model.names {
		if from == to {
			continue
		}
		l := web.Link{From: from, To: to, State: web.Unknown}
		p, ok := heard[from]
		if ok && p.Heard && p.Silence < s.Timing.Suspect && s.both(from, to) {
			l.Bound, l.RoundTrip = p.Bound.Round(10*time.Microsecond), p.RoundTrip.Round(10*time.Microsecond)
			l.State = web.Slow
			if l.Bound > 0 && l.Bound <= s.Timing.Delay {
				l.State = web.Fast
			}
		}
		cut, delay := s.cluster.Fault(from, to)
		switch {
		case cut:
			l.State, l.Bound, l.Made = web.Cut, 0, "cut"
		case delay > 0:
			l.Made = fmt.Sprintf("slowed down by %v", delay)
			if delay > s.Timing.Delay {
				l.State = web.Slow
			}
		}
		all = append(all, l)
	}
	return all
}

// both says whether both members run.
func (s *demonstration) both(a, b string) bool {
	x, _ := s.cluster.State(a)
	y, _ := s.cluster.State(b)
	return x == "running" && y == "running"
}

// show returns the group as the page shows it.
func (g *election) show(at time.Duration, m *model) web.Group {
	out := web.Group{Name: g.name, Mode: g.mode, Changed: g.changed, Cause: g.cause, Changes: g.changes}
	for _, r := range g.standing(at, m.members) {
		v := g.views[r.member]
		if r.local && g.mode == web.Quorum {
			v = g.beside[r.member]
		}
		out.Leaders = append(out.Leaders, web.Leader{Member: r.member, Term: r.token, Token: r.token, Since: r.from, Until: r.until,
			Lease: r.length, Support: r.support, Local: r.local, Stopping: v.Stopping && v.Leader == r.member})
	}
	for _, n := range m.names {
		if v, ok := g.views[n]; ok && m.members[n].paused == 0 {
			out.Views = append(out.Views, v.Of(n))
		}
	}
	return out
}

// tenures returns the leaderships as the timeline shows them.
func (g *election) tenures(at time.Duration, m *model) []web.Tenure {
	var all []web.Tenure
	for i, r := range g.leaderships {
		t := web.Tenure{ID: r.id, Group: g.name, Mode: g.mode, Member: r.member, Token: r.token, Local: r.local, From: r.from, Cause: r.cause}
		switch {
		case r.proven:
			t.To, t.Evidence = r.to, "the program's own clock, read while its lease was valid"
		case r.over:
			t.To, t.Evidence = r.to, "the program said that it stopped, or its process ended"
		case i < len(g.leaderships)-1 && g.mode == web.Quorum && !r.local && g.leaderships[i+1].token > r.token:
			t.To, t.Evidence = min(r.until, g.leaderships[i+1].from), "the lease as it was last heard of; the program has not said yet when it stopped"
		default:
			t.Evidence = "the program says that it leads"
			if p := m.members[r.member]; p.paused > 0 && at > p.paused+r.length {
				t.To, t.Evidence = r.until, "the lease as it was last heard of, before the process was paused"
			}
		}
		all = append(all, t)
	}
	return all
}
