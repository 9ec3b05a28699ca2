package etcd

import (
	"maps"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/regentproject/regent/facades/etcd/internal/belief"
	"github.com/regentproject/regent/internal/protocol"
)

// An etcdSession is a lease of etcd.
type etcdSession struct {
	server *Server
	id     int64
	// owner is the client that it was granted to, and source where that was.
	owner, source string
	// granted is the longest TTL that it gets.
	granted time.Duration
	// changed has an element when there may be something to do.
	changed chan struct{}

	mu        sync.Mutex
	belief    *belief.Session
	campaigns map[string]*campaign // by group
	// stream is the last that carried its keep-alives; nil: there was none.
	stream *aliveStream
	// ending says that its client was told that it is over, over that it is.
	ending, over bool
}

// run does what is due until the session is over.
func (s *etcdSession) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait, over := s.evaluate()
		if over {
			return
		}
		timer.Reset(wait)
		select {
		case <-s.changed:
		case <-timer.C:
		}
	}
}

// change has run look again. It does not wait.
func (s *etcdSession) change() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// evaluate does what is due, and returns when to look again. All that may be late is looked at before what may go on.
func (s *etcdSession) evaluate() (wait time.Duration, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.campaigns {
		s.follow(c)
	}
	now := s.server.core.Now()
	if !s.over && s.belief.Over(now) {
		s.finish()
	}
	return s.belief.End().Sub(now), s.over
}

// follow does what is due for one candidacy.
func (s *etcdSession) follow(c *campaign) {
	now := s.server.core.Now() // first: what passes until the end of the lease is read makes it less
	switch {
	case c.candidate.Load() == nil:
		if s.belief.Ready(now) {
			s.limit()
			s.leave(c, c.begin())
		}
	case c.over.Load() != nil && !c.answered:
		s.leave(c, *c.over.Load())
	case c.stop.Load() && !c.answered:
		c.giveUp()
		s.leave(c, errGivenUp)
	case c.over.Load() != nil || c.stop.Load():
		s.end()
	default:
		if limit := c.limit(); limit != protocol.Never && c.candidate.Load().LeadsNow() && s.belief.MayLead(now, limit) {
			c.answer()
		}
	}
}

// limit has the client get the TTL that all groups of the session allow. Before that it is short, so that the proof that an answer was read does not
// take long.
func (s *etcdSession) limit() {
	ttl := s.granted
	for _, c := range s.campaigns {
		ttl = min(ttl, c.ttl)
	}
	s.belief.Limit(ttl)
}

// leave removes a candidacy that has failed; nothing if err is nil.
func (s *etcdSession) leave(c *campaign, err error) {
	if err == nil {
		return
	}
	if s.campaigns[c.group] == c {
		delete(s.campaigns, c.group)
	}
	s.server.forget(c)
	c.settle(err)
}

// end tells the client that the session is over. What it leads is given up when it cannot believe otherwise any more.
func (s *etcdSession) end() {
	s.belief.Stop()
	if s.ending {
		return
	}
	s.ending = true
	if s.stream != nil {
		s.stream.end(s.id)
	}
}

// finish ends the session, and gives up what it leads: its client does not believe any more, or said so itself.
func (s *etcdSession) finish() {
	s.over = true
	s.end()
	s.belief.Finish()
	for _, c := range s.campaigns {
		c.giveUp()
		s.leave(c, rpctypes.ErrGRPCLeaseNotFound)
	}
	s.server.drop(s)
}

// revoke ends the session because its client says so, and returns what must be given up before that is answered.
func (s *etcdSession) revoke() []*campaign {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil
	}
	led := slices.Collect(maps.Values(s.campaigns))
	s.finish()
	s.change()
	return led
}

// keepAlive returns what becomes of a keep-alive, and when that was decided.
func (s *etcdSession) keepAlive(by *aliveStream) (belief.Answer, protocol.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stream = by
	now, limit := s.server.core.Now(), protocol.Never
	for _, c := range s.campaigns {
		limit = min(limit, c.limit())
	}
	return s.belief.KeepAlive(now, by.Stream, limit), now
}

// sent takes note of what became of an answer: late ones end the session, because they were decided for an earlier instant.
func (s *etcdSession) sent(decided protocol.Time, a belief.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.TTL > 0 && s.server.core.Now().Sub(decided) > belief.Way {
		s.end()
	}
	s.change()
}

// broke says that a stream was not ended by the server.
func (s *etcdSession) broke(by *aliveStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.belief.Broke(by.Stream)
}
