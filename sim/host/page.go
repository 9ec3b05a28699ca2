package host

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/tenure"
)

// A slot is where an agent shows those below it until when they lead. The member moves what it shows, while neither the agent's machine nor
// those below get an event. All of them look before they deal with an event. Programs read it at any time.
type slot struct {
	// follows says that renewals move the end; end is what it shows, and highest what it ever showed. marginTime is still to be taken off.
	follows      bool
	end, highest protocol.Time
}

// shows decides whether those below the agent read a page.
func (s *candidacy) shows() bool {
	if s.h.w.pages.N(2) == 0 {
		s.slot = new(slot)
	}
	return s.slot != nil
}

// renewed moves what the slot shows, or has the agent get an event. The member uses no lease that it held before a suspend.
func (s *candidacy) renewed(until protocol.Time) {
	if s.slot == nil {
		s.top.above(tenure.Event{Kind: tenure.Extended, Until: until}, 0)
		return
	}
	if s.slot.follows && s.life.began >= s.h.woke {
		s.slot.end = until
		s.slot.highest = max(s.slot.highest, until)
		s.life.deadline = max(s.life.deadline, until.Add(-marginTime))
	}
}

// take looks at the slot before an event. A lease that was held before a suspend is used no more.
func (a *party) take(ev tenure.Event) {
	s := a.candidacy
	if s == nil || s.slot == nil || s.life == nil || a.m.State() == tenure.Waiting || ev.Kind == tenure.Extended || ev.Kind == tenure.Fixed || s.life.began < a.h.woke {
		return
	}
	until := s.slot.highest // the agent counts what readers may have seen
	if a != s.top {
		until = s.slot.end.Add(-marginTime)
	}
	if known, _ := a.m.Announced(); until.Add(-a.conf.Margin) > known {
		a.step(tenure.Event{Kind: tenure.Extended, Until: until})
	}
}

// doSlot carries out what the agent's machine asks for on the page.
func (a *party) doSlot(e tenure.Effect) {
	s := a.candidacy
	if s == nil || s.slot == nil || a != s.top {
		return
	}
	switch e.Kind {
	case tenure.Announce:
		if e.Token != 0 {
			s.slot.follows = true
			s.renewed(e.Until.Add(marginTime))
		}
	case tenure.Fix:
		a.fix()
	case tenure.Void, tenure.End:
		s.slot.follows, s.slot.end = false, 0
	}
}

// fix fixes what the slot shows. The member may renew the lease between the agent's last look and that, and a reader may see it.
func (a *party) fix() {
	s, w := a.candidacy, a.h.w
	if w.pages.N(2) == 0 && a.h.renewable() && w.council.life == s.life {
		w.council.until = w.now.Add(leaseTime)
		s.renewed(w.council.until)
		for _, below := range []*party{s.client, s.runner, s.keeper} {
			if below != nil && a.h.runs(below.p) && w.pages.N(2) == 0 {
				below.step(tenure.Event{Kind: tenure.Tick})
			}
		}
	}
	s.slot.follows = false
	a.step(tenure.Event{Kind: tenure.Fixed, Until: s.slot.highest})
}

// shown looks at a tenure that is released: its program may lead until the highest end that the slot ever showed.
func (c *checker) shown(l *life) {
	s := l.candidacy
	if s.slot == nil {
		return
	}
	a, until := l.acting(), s.slot.highest.Add(-marginTime)
	if a != nil && (a.m.State() == tenure.Leading || a.m.State() == tenure.Asked) && c.w.now < until {
		c.fail("H-SHOWN", "token %d is released, and its program may have read that it leads until %v", l.token, until)
	}
}
