// Package belief decides what a client of etcd may believe: with which TTL a keep-alive is answered, if it is, and when a campaign may be answered.
//
// It is pure: time is an argument, and nothing else is asked. A [Session] is one lease of etcd with the groups that it leads.
//
// # What the client does
//
// Read in go.etcd.io/etcd/client/v3 v3.7.3 (lease.go), and the same in 3.4 where nothing else is noted:
//
//   - A client believes in its session for a TTL from when it has read an answer, whenever that was sent. It looks once a second whether that time is over
//     (3.4: every 500 ms), so it may believe for a second more. These are [Reap] and, for the way of the answer, [Way].
//   - Before it has read a first answer it believes for its dial timeout and a second from when it began: 6 s by default, and longer if it is configured so. No
//     server can shorten that.
//   - While it has read no answer, it sends a keep-alive every 500 ms. So a second keep-alive does not prove that an answer was read, and a connection that breaks
//     may have lost the first.
//   - What proves it is the order of a stream: the server ends the stream of keep-alives behind an answer, and the client opens the next one of the same
//     connection only after it has read the end, and so the answer before it.
//
// # Rules
//
//   - An answer is given only if the client will not believe beyond the end of any leadership, less the guard, however late it reads the answer: [Slack] after
//     the TTL.
//   - A campaign is answered only if an answer is proven to be read, and no answer that may be the last that the client has read reaches further than the lease.
//   - A session that must stop gets no answer any more. Its groups are given up when the client does not believe any more.
package belief

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

const (
	// Reap is how long after the end of a session its client may take to look.
	Reap = time.Second
	// Way is how long an answer may take from the decision to give it until the client has read it.
	Way = 500 * time.Millisecond
	// Slack is how much longer than a TTL a client may believe, counted from the decision to answer.
	Slack = Reap + Way
	// Shortest is the shortest TTL with which a group can be led.
	Shortest = 2 * time.Second
)

// Allowed returns the longest TTL that leases of some constants bear: one that can be granted at any instant between two renewals.
func Allowed(lease, guard, renew time.Duration) time.Duration { return lease - guard - renew - Slack }

// Granted returns what a client gets that asks for a TTL: TTLs are whole seconds.
func Granted(asked, allowed time.Duration) time.Duration {
	return max(0, min(asked, allowed)).Truncate(time.Second)
}

// A Stream is a stream of keep-alives: streams of a connection have numbers that grow.
type Stream struct{ Conn, Number uint64 }

// An Answer is what becomes of a keep-alive.
type Answer struct {
	// Give says that it is answered. A TTL of zero says that the session is over.
	Give bool
	TTL  time.Duration
	// End says that the stream is ended behind the answer: the next one of the connection proves that the answer was read.
	End bool
}

// A Session is a lease of etcd. Make one with [New].
type Session struct {
	ttl time.Duration // of the next answer
	// end is when the client stops to believe, at the latest. Invariant: it binds if proven.
	end    protocol.Time
	proven bool
	// mark is the answer behind which a stream was ended, if marked; since is the latest end of answers after it.
	mark           Stream
	marked         bool
	markEnd, since protocol.Time
	stopping, over bool
}

// New returns a session that was granted a TTL.
func New(now protocol.Time, ttl time.Duration) *Session {
	return &Session{ttl: ttl, end: now.Add(ttl + Slack)}
}

// Limit sets the TTL of later answers.
func (s *Session) Limit(ttl time.Duration) { s.ttl = ttl }

// TTL returns that of the next answer.
func (s *Session) TTL() time.Duration { return s.ttl }

// KeepAlive returns what becomes of a keep-alive that came by a stream. The client must not believe beyond limit, the earliest end of what the session leads;
// Never: it leads nothing.
func (s *Session) KeepAlive(now protocol.Time, by Stream, limit protocol.Time) Answer {
	if s.Over(now) {
		return Answer{Give: true}
	}
	if s.marked && by.Conn == s.mark.Conn && by.Number > s.mark.Number {
		s.marked, s.proven = false, true
		s.end = max(s.markEnd, s.since)
	}
	end := now.Add(s.ttl + Slack)
	if s.stopping || end > limit {
		return Answer{}
	}
	a := Answer{Give: true, TTL: s.ttl, End: (!s.proven || s.end > end) && (!s.marked || by.Conn != s.mark.Conn)}
	if a.End {
		s.mark, s.marked, s.markEnd, s.since = by, true, end, end
	}
	s.since, s.end = max(s.since, end), max(s.end, end)
	return a
}

// Broke says that a stream did not end behind its answer: the client, or the connection, ended it.
func (s *Session) Broke(by Stream) {
	if s.marked && s.mark == by {
		s.marked = false
	}
}

// Ready says whether a campaign may begin: the client is proven to have read an answer, and no earlier one with a longer TTL counts.
func (s *Session) Ready(now protocol.Time) bool {
	return s.proven && !s.stopping && !s.Over(now) && s.end <= now.Add(s.ttl+Slack)
}

// MayLead says whether the client may be told that it leads until limit.
func (s *Session) MayLead(now, limit protocol.Time) bool { return s.Ready(now) && s.end <= limit }

// Stop has no keep-alive be answered any more: the session must end.
func (s *Session) Stop() { s.stopping = true }

// Finish ends the session at once: its client said so, or leads nothing.
func (s *Session) Finish() { s.over = true }

// End returns when the session is over at the latest, if no keep-alive is answered.
func (s *Session) End() protocol.Time { return s.end }

// Over says whether the session is over: the client does not believe any more, so what it led can be given up.
func (s *Session) Over(now protocol.Time) bool { return s.over || now >= s.end }
