package engine

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"
)

// An Engine elects leaders on some system. Its methods may be called from any goroutine.
type Engine interface {
	// Name is short, such as "postgres". Where says which system it is, without secrets: two engines whose Name and Where are equal draw the tokens
	// of a group from the same numbers.
	Name() string
	Where() string
	Limits() Limits
	// Open checks that the system can be used, with these lengths of time, and that nothing on it is of another version. It
	// returns how this process takes part. An error leaves nothing behind.
	Open(ctx context.Context, h Host) (Session, error)
	// Raise has all later tokens of the group be above a number, such as the last token of another engine. It never lowers them. The empty
	// name stands for all groups.
	Raise(ctx context.Context, group string, above uint64) error
}

// A Host is what an engine needs to know of the process.
type Host struct {
	// Name is that of the member. No two processes have the same.
	Name string
	// Clock is the lease clock of the process.
	Clock Clock
	// Lease is how long a lease lasts, and Renew how often it is renewed. All processes have the same.
	Lease, Renew time.Duration
	// Drift bounds how far the rate of any clock deviates from that of real time, as a fraction.
	Drift float64
	Log   *slog.Logger
}

// The lengths of time that members and agents on an engine have unless they are set: leases survive pauses of 2.5 s, and a dead leader is replaced after 5 to 7 s.
const (
	DefaultLease     = 5 * time.Second
	DefaultRenew     = 1500 * time.Millisecond
	DefaultGuard     = 500 * time.Millisecond
	DefaultRoundTrip = 500 * time.Millisecond
)

// A Session is how one process takes part.
type Session interface {
	// Campaign waits until this process leads the group. A process campaigns for a group once at a time, and not while it leads it. If ctx ends
	// before, nothing is left behind, or is given back as soon as the system can be reached. Value is announced with the leadership.
	Campaign(ctx context.Context, group, value string) (Tenure, error)
	// Watch yields what is known of the group, and then every change, until ctx ends or the session is closed.
	Watch(ctx context.Context, group string) iter.Seq[State]
	// Fault returns why the system cannot be reached at present; nil if it can.
	Fault() error
	// Close ends the session. What it leads runs out.
	Close() error
}

// A Tenure is one leadership of this process.
type Tenure interface {
	// Token grows with every leadership of the group, of any process.
	Token() uint64
	// Until returns the end of the lease as it stands: the clock before the request that succeeded last was sent, and for how long it counts.
	// It never moves back. No other process leads before it, unless this one has called Release.
	Until() Instant
	// Moved returns a channel that is closed when the end moves next.
	Moved() <-chan struct{}
	// Lost is closed when this process leads no more, whatever Until says: the end has passed, or the system says that it is so.
	Lost() <-chan struct{}
	// Release says that nothing acts under the leadership any more: another process may lead at once.
	Release()
	// LetRunOut ends the renewals. Nothing is given back before the end.
	LetRunOut()
	// Announce changes the value.
	Announce(value string)
}

// A State is what a process knows of a group. It is knowledge, not proof.
type State struct {
	// Leader is the name of the member that leads; empty if none is known to.
	Leader string
	Token  uint64
	// Lease is the length of its leases, and Value what it announces.
	Lease time.Duration
	Value string
	// Free says that nobody leads because the last leader gave the group up.
	Free bool
}

// Limits is what an engine can and cannot do.
type Limits struct {
	// Shortest is the shortest lease, and Step what all lengths are multiples of; zero: any.
	Shortest, Step time.Duration
	// NoFence says that tokens do not grow with every leadership under all circumstances: they are not offered. Leases then show none, and what tells leaderships
	// apart in views and histories is still the number of [Tenure].
	NoFence bool
	// Loss says under which circumstances the system loses what it has confirmed, so that two may lead and a token may repeat.
	Loss string
}

// ErrUnsupported says that an engine cannot do what was asked for, or that a field of a configuration is of a council.
var ErrUnsupported = errors.New("not possible on this engine")

// A Status is what a member knows of its engine.
type Status struct {
	Name  string `json:"name"`
	Where string `json:"where"`
	// Fault says why the system does not answer; empty if it does.
	Fault string `json:"fault,omitempty"`
	// Shortest is the shortest lease, and Loss when the system may lose what it has confirmed. Fences says that tokens can be used for fences.
	Shortest time.Duration `json:"shortest_lease_ns"`
	Loss     string        `json:"loss,omitempty"`
	Fences   bool          `json:"fences"`
	// Missing lists what the council can do and this engine cannot.
	Missing []string `json:"missing,omitempty"`
}

// A Clock is a lease clock: it does not follow the time of day, and counts while the host is suspended.
type Clock interface{ Now() Instant }

// An Instant is a reading of a [Clock]. Readings of different processes have nothing to do with one another.
type Instant struct{ since time.Duration }

// Add returns the instant d later, and Sub the time since u.
func (i Instant) Add(d time.Duration) Instant { return Instant{i.since + d} }
func (i Instant) Sub(u Instant) time.Duration { return i.since - u.since }
func (i Instant) Before(u Instant) bool       { return i.since < u.since }
