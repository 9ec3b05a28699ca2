package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
)

const (
	toyGuard = 10 * time.Millisecond
	toyLease = 100 * time.Millisecond
	toyRenew = 30 * time.Millisecond
	toyGrace = 10 * time.Second
)

// toyAuthority is a toy authority with one horizon. It gives every group to its candidate, at once unless it is told to wait,
// and renews every 30 ms unless it is told not to.
type toyAuthority struct {
	out      *protocol.Effects
	until    protocol.Time
	renew    protocol.Time
	tenure   uint64
	groups   map[protocol.Group]*toyGroup
	held     bool // give nothing
	silent   bool // renew nothing
	mute     bool // begin no transfer, do not answer either, and renew what was to lapse
	closed   bool
	transfer protocol.Transfer
	renamed  protocol.Time // that it was made with
	events   []string
}

type toyGroup struct {
	candidate, stop bool
	tenure, term    uint64
	// fixed is the end of a lease that is renewed no more; zero: it is renewed.
	fixed protocol.Time
}

func (m *toyAuthority) view(g protocol.Group, why protocol.CauseCode) {
	s := m.groups[g]
	v := protocol.View{Group: g, Domain: protocol.Quorum, Leader: protocol.NoIdent, Term: s.term, Until: protocol.Never,
		Cause: protocol.Cause{Code: why, Peer: protocol.Nobody}}
	if s.tenure != 0 {
		v.Leader, v.Tenure, v.Stop, v.Horizon = protocol.Ident{Rank: 0, Inc: 1}, s.tenure, s.stop, 1
		if s.fixed != 0 {
			v.Until = s.fixed
		}
		v.Quorum = stamp.Quorum{{Voter: 0, Inc: 1, Clock: int64(s.tenure)}}
	}
	m.out.Views = append(m.out.Views, v)
}

func (m *toyAuthority) at(g protocol.Group) *toyGroup {
	s := m.groups[g]
	if s == nil {
		s = &toyGroup{}
		m.groups[g] = s
	}
	return s
}

func (m *toyAuthority) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.out = out
	if _, ok := ev.(protocol.Tick); !ok {
		m.events = append(m.events, fmt.Sprintf("%T%v", ev, ev))
	}
	m.expire(now)
	switch ev := ev.(type) {
	case protocol.Campaign:
		m.at(ev.Group).candidate = true
	case protocol.Resign:
		if s := m.at(ev.Group); s.tenure != 0 {
			s.stop = true
			m.view(ev.Group, protocol.Resigned)
		}
		m.at(ev.Group).candidate = false
	case protocol.Lapse:
		if s := m.at(ev.Group); s.tenure == ev.Tenure && s.fixed == 0 && !m.mute {
			s.stop, s.fixed, s.candidate = true, m.until, false
			m.view(ev.Group, ev.Why)
		}
	case protocol.Transfer:
		if m.mute {
			break
		}
		m.transfer = ev
		m.at(ev.Group).stop = true
		m.view(ev.Group, protocol.Transferred)
	case protocol.Stopped:
		if s := m.at(ev.Group); s.tenure != 0 && s.stop {
			s.tenure, s.stop, s.candidate, s.fixed = 0, false, false, 0
			m.view(ev.Group, protocol.Resigned)
			if id := m.transfer.ID; id != 0 {
				m.out.Answers = append(m.out.Answers, protocol.Answer{ID: id, Group: ev.Group, OK: true, Leader: protocol.Ident{Rank: m.transfer.To}})
			}
		}
	case protocol.Close:
		m.closed = true
		for g, s := range m.groups {
			s.candidate = false
			if s.tenure != 0 && !s.stop {
				s.stop = true
				m.view(g, protocol.Closed)
			}
		}
	}
	m.give(now)
	if !m.silent && now >= m.renew {
		m.until, m.renew = now.Add(toyLease), now.Add(toyRenew)
		m.out.Horizons = append(m.out.Horizons[:0], protocol.Horizon{ID: 1, Until: m.until})
	}
	m.out.Wake = min(m.renew, m.until)
	if m.silent {
		m.out.Wake = m.until
	}
	if m.silent && now >= m.until {
		m.out.Wake = protocol.Never
	}
}

func (m *toyAuthority) expire(now protocol.Time) {
	for g, s := range m.groups {
		if s.tenure != 0 && (now >= m.until || s.fixed != 0 && now >= s.fixed) {
			s.tenure, s.stop, s.fixed = 0, false, 0
			m.view(g, protocol.LeaseExpired)
		}
	}
}

func (m *toyAuthority) give(now protocol.Time) {
	for g, s := range m.groups {
		if !m.held && s.candidate && s.tenure == 0 && (m.until > now || !m.silent) {
			m.tenure++
			s.tenure, s.term = m.tenure, s.term+1
			m.view(g, protocol.Elected)
		}
	}
}

func (m *toyAuthority) Closed() bool {
	for _, s := range m.groups {
		if s.tenure != 0 {
			return false
		}
	}
	return m.closed
}

// startAuthority starts a loop with a group table around a toy authority.
func startAuthority(t *testing.T) (*toyAuthority, *GroupTable, *Loop) {
	t.Helper()
	return startAuthorityWith(t, func(*Options) {})
}

func startAuthorityWith(t *testing.T, change func(*Options)) (*toyAuthority, *GroupTable, *Loop) {
	t.Helper()
	c := clock.Package()
	m := &toyAuthority{groups: make(map[protocol.Group]*toyGroup)}
	b := NewGroupTable(GroupTableOptions{Guard: toyGuard, Grace: toyGrace, Late: c.Late})
	j := &journal{now: c.Now, wake: protocol.Never}
	o := Options{Name: "a", Rho: protocol.DefaultRho, Clock: c.Now,
		Port: j, Waiter: NewChanWaiter(), Log: slog.New(slog.DiscardHandler)}
	change(&o)
	l := NewLoop(o)
	at, err := l.Add(Council, "the council", m, b)
	if err != nil {
		t.Fatal(err)
	}
	b.Bind(at)
	go l.Run(context.Background())
	t.Cleanup(func() { l.Stop(); <-l.Ended() })
	return m, b, l
}

// change does something to the authority, on the loop, and makes it act on it.
func change(l *Loop, f func()) {
	_ = l.Do(func(protocol.Time) { f(); l.instances[Council].Post(protocol.Tick{}) })
	synctest.Wait()
}

func lead(t *testing.T, g *Group) *Lease {
	t.Helper()
	l, err := g.Campaign(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
