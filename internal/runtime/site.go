package runtime

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A Site is where the machine of one group stands that is not always there: it is opened when the first program here
// takes part, and removed a while after the last has left, so that a group that nobody uses costs neither memory nor
// packets.
type Site struct {
	loop    *Loop
	channel Channel
	name    string
	make    func(now, renamed protocol.Time, inc protocol.Inc) (protocol.Machine, error)
	linger  time.Duration
	// board and screen are what programs see; one of them is set.
	board  *Board
	screen *screen
	unless *Group
	settle time.Duration

	// The rest is the loop's own.

	at    *Instance
	users int
	// closeAt is when the machine is removed if nobody has come back.
	closeAt protocol.Time
	// heedAt is when it will be known whether the other group has a leader.
	heedAt protocol.Time
}

// SiteOptions is what a site needs to know.
type SiteOptions struct {
	Channel Channel
	// Name is for people, such as "the local group g".
	Name  string
	Group protocol.Group
	// Make makes the machine of a member that speaks as inc. The machines before it, and what they knew of their promises, may
	// have been lost at renamed, when the process ceased to speak as another incarnation; zero if it never has.
	Make func(now, renamed protocol.Time, inc protocol.Inc) (protocol.Machine, error)
	// Linger is how long a machine that nobody uses must stay: until all that it promised is over.
	Linger time.Duration
	// Board says that programs may lead the group; otherwise they can only watch it.
	Board *BoardOptions
	// Unless, if it is set, is a group of another board: nothing is led here while that one is known to have a leader.
	Unless *Group
	// Settle is how long it takes, once the member votes, until it has heard of every leader there is. Before that nothing is
	// led here if Unless is set.
	Settle time.Duration
	// Changed, if it is set, is told of every change, on the loop. It must not wait.
	Changed func(c *Change)
}

// NewSite returns a site of a loop that may run already. It may be called on any goroutine.
func NewSite(l *Loop, o SiteOptions) *Site {
	s := &Site{loop: l, channel: o.Channel, name: o.Name, make: o.Make, linger: o.Linger, unless: o.Unless, settle: o.Settle,
		closeAt: protocol.Never, heedAt: protocol.Never}
	if o.Board != nil {
		s.board = NewBoard(*o.Board)
		s.board.history, s.board.loop, s.board.site = nil, l, s
		s.board.Group(o.Group)
	} else {
		s.screen = &screen{group: &Group{Name: o.Group}}
	}
	if o.Changed != nil {
		s.Group(o.Group).notify = func(_ protocol.Time, c *Change) { o.Changed(c) }
	}
	return s
}

// Group returns the group.
func (s *Site) Group(name protocol.Group) *Group {
	if s.board != nil {
		return s.board.Group(name)
	}
	return s.screen.group
}

// Enter makes the member take part until Exit. Many may enter.
func (s *Site) Enter() error {
	c := make(chan error, 1)
	if err := s.loop.Do(func(now protocol.Time) { c <- s.enter(now) }); err != nil {
		return err
	}
	select {
	case err := <-c:
		return err
	case <-s.loop.Ended():
		return ErrClosed
	}
}

// Exit takes an Enter back. It does not wait.
func (s *Site) Exit() { _ = s.loop.Do(s.exit) }

func (s *Site) enter(now protocol.Time) error {
	if s.loop.closing {
		return ErrClosed // nothing begins any more, and the member does not wait for what has not begun
	}
	if err := s.open(now); err != nil {
		return err
	}
	s.users++
	s.closeAt = protocol.Never
	s.loop.sites[s] = struct{}{}
	return nil
}

func (s *Site) exit(now protocol.Time) {
	if s.users--; s.users > 0 {
		return
	}
	if s.at == nil {
		delete(s.loop.sites, s)
		return
	}
	if s.board != nil {
		// It leaves the group even if it goes on campaigning, because it was only asked to make room for another.
		s.board.Groups(func(g *Group) { s.board.post(protocol.Resign{Group: g.Name}) })
	}
	s.closeAt = now.Add(s.linger)
	s.at.sinkWake = min(s.at.sinkWake, s.closeAt)
	s.loop.agenda.set(s.at)
}

// open puts the machine into the loop, if the member knows who it is.
func (s *Site) open(now protocol.Time) error {
	inc := s.loop.stats.Inc()
	if s.at != nil || inc == 0 {
		return nil
	}
	m, err := s.make(now, s.loop.renamed, inc)
	if err != nil {
		return err
	}
	at, err := s.loop.Add(s.channel, s.name, m, s.sink())
	if err != nil {
		return err
	}
	s.at = at
	if b := s.board; b != nil {
		b.at, b.faulty, b.closing = at, s.loop.faulty, s.loop.closing
		s.heed(now)
		b.health(s.loop.ill)
		b.Groups(b.campaign)
	} else if s.loop.ill {
		s.health()
	}
	return nil
}

// health makes known whether the member is well: to the board, or to a machine that has none.
func (s *Site) health() {
	switch {
	case s.board != nil:
		s.board.health(s.loop.ill)
	case s.at != nil:
		s.at.Post(protocol.Health{OK: !s.loop.ill})
	}
}

// heed bars the site while the other group has a leader, or may have one that this member has not heard of, from now on.
func (s *Site) heed(now protocol.Time) {
	if s.unless == nil {
		return
	}
	s.unless.notify = s.look
	s.look(now, s.unless.Latest())
}

// votes takes note of when the member votes. Whoever waits to know of leaders looks again when that changes.
func (l *Loop) votes(now, at protocol.Time) {
	if at == l.stats.Votes() {
		return
	}
	l.stats.votes.Store(int64(at))
	if at == protocol.Never { // it does not know who it is any more: all sites are closed
		return
	}
	for s := range l.sites {
		if s.unless != nil && s.at != nil {
			s.look(now, s.unless.Latest())
		}
	}
}

func (s *Site) look(now protocol.Time, c *Change) {
	known := s.loop.stats.Votes().Add(s.settle)
	if s.heedAt = protocol.Never; now < known {
		s.heedAt = known
		s.at.sinkWake = min(s.at.sinkWake, known)
		s.loop.agenda.set(s.at)
	}
	leads := c != nil && c.Leader != protocol.NoIdent
	s.board.bar(barredElsewhere, leads || now < known, protocol.Cause{Code: protocol.Elected, Peer: leaderOf(c)})
}

func leaderOf(c *Change) protocol.Rank {
	if c == nil {
		return protocol.Nobody
	}
	return c.Leader.Rank
}

// close takes the machine out of the loop.
func (s *Site) close() {
	if s.at == nil {
		return
	}
	if s.unless != nil {
		s.unless.notify = nil
	}
	s.loop.Remove(s.at)
	s.at = nil
	if s.users == 0 {
		delete(s.loop.sites, s)
	}
	if s.board != nil {
		s.board.at = nil
	}
}

func (s *Site) sink() Sink {
	if s.board != nil {
		return siteSink{s.board, s}
	}
	return siteSink{s.screen, s}
}

// renamed replaces the machine, for it belongs to an incarnation. To the others the old one has crashed: its leaderships
// are over, and nothing is released.
func (s *Site) renamed(now protocol.Time) {
	if s.board != nil {
		s.board.abandon(now)
	}
	s.close()
	if s.users == 0 || s.loop.closing {
		return
	}
	if err := s.open(now); err != nil {
		s.loop.Log.Error("a group cannot be opened again", "group", s.name, "err", err)
	}
}

// siteSink is the sink of a machine at a site: it also watches when to close the site.
type siteSink struct {
	Sink
	site *Site
}

func (k siteSink) Tick(now protocol.Time) protocol.Time {
	s := k.site
	if now >= s.heedAt {
		s.look(now, s.unless.Latest())
	}
	next := k.Sink.Tick(now)
	if now < s.closeAt {
		return min(next, s.heedAt, s.closeAt)
	}
	s.close()
	return protocol.Never
}

// A screen is the sink of a machine whose groups can only be watched.
type screen struct{ group *Group }

func (s *screen) View(now protocol.Time, v *protocol.View) { s.group.publish(now, v) }
func (s *screen) Horizon(protocol.Time, protocol.Horizon)  {}
func (s *screen) Answer(protocol.Time, *protocol.Answer)   {}
func (s *screen) Published(protocol.Time)                  {}
func (s *screen) Tick(protocol.Time) (next protocol.Time)  { return protocol.Never }
