package runtime_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime"
)

// A tenancy is a lease in the hands of a program.
type tenancy struct {
	process *process
	group   protocol.Group
	local   bool
	// unless is the group that must have no leader when the tenancy begins; nil: there is none.
	unless *runtime.Group
	lease  *runtime.Lease
	// asked counts how often the program was asked to stop.
	asked atomic.Int32
	// running says that the program acts as the leader. It is false while a transfer is under way.
	running atomic.Bool
	// after is the end of the lease when its process ended.
	after protocol.Time
}

// A ledger knows all leases of all members, and holds them to the invariants. All members share one process and one virtual
// clock, so what it reads is true of one instant.
type ledger struct {
	mu sync.Mutex
	// all are the tenancies so far, and valid those that may still be valid.
	all, valid []*tenancy
	tokens     map[protocol.Group]uint64
	// seen is when a lease of the group was last valid.
	seen     map[protocol.Group]time.Time
	failures []string
	// counts says how often what happened, so that a run in which nothing happened does not pass for a proof.
	counts map[string]int
	began  time.Time
}

func newLedger() *ledger {
	return &ledger{tokens: make(map[protocol.Group]uint64), seen: make(map[protocol.Group]time.Time), counts: make(map[string]int), began: time.Now()}
}

// maxFailures is how many broken invariants a run reports.
const maxFailures = 10

// fail notes that an invariant is broken.
func (l *ledger) fail(invariant, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failLocked(invariant, format, args...)
}

func (l *ledger) failLocked(invariant, format string, args ...any) {
	if len(l.failures) < maxFailures {
		l.failures = append(l.failures, fmt.Sprintf("%s: after %v: %s", invariant, time.Since(l.began), fmt.Sprintf(format, args...)))
	}
}

func (l *ledger) count(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[what]++
}

// begin takes note that a program has got a lease.
func (l *ledger) begin(t *tenancy) {
	t.running.Store(true)
	t.process.lead(t)
	t.lease.OnDone(func() { t.asked.Add(1) })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts["leases of "+string(t.group)]++
	if isClosed(t.process.loop.Ended()) {
		t.after = t.lease.Until()
	}
	if end := t.lease.Until(); end <= 0 && t.lease.Cause() == nil { // in this order: a lease has a cause before it loses its end
		l.failLocked("EndBeforeProgram", "%v leads %s in a lease whose end is not published", t.process, t.group)
	}
	if at := t.process.closedAt.Load(); at != nil && time.Now().After(*at) {
		l.failLocked("NothingAfterClose", "%v began to lead %s after Close", t.process, t.group)
	}
	if c := t.leader(); c != nil && t.lease.Cause() == nil {
		l.failLocked("NotBesideALeader", "%v leads %s, and knows since %v that %v leads %s", t.process, t.group, c.At, c.Leader, c.Group)
	}
	if token := t.lease.Token(); !t.local {
		if token <= l.tokens[t.group] {
			l.failLocked("TokensGrow", "%v leads %s with token %d after %d", t.process, t.group, token, l.tokens[t.group])
		}
		l.tokens[t.group] = max(l.tokens[t.group], token)
	}
	l.all, l.valid = append(l.all, t), append(l.valid, t)
	l.look()
}

// leader returns the change by which the other group has a leader, if there is one and it is not of this very instant.
func (t *tenancy) leader() *runtime.Change {
	if t.unless == nil {
		return nil
	}
	c := t.unless.Latest()
	if c == nil || c.Leader == protocol.NoIdent || c.At.Add(time.Microsecond) >= t.process.clock.Late() {
		return nil
	}
	return c
}

// check looks for leases that exclude one another.
func (l *ledger) check() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look()
}

func (l *ledger) look() {
	valid := l.valid[:0]
	for _, t := range l.valid {
		if t.lease.Valid() {
			valid = append(valid, t)
			l.seen[t.group] = time.Now()
		}
	}
	clear(l.valid[len(valid):])
	l.valid = valid
	for i, a := range valid {
		for _, b := range valid[:i] {
			if a.group == b.group {
				l.compare(a, b)
			}
		}
	}
}

// compare looks at two leases of one group. A lease that is over never comes back, so if the first is valid before and after the
// second is read, there is an instant at which both are.
func (l *ledger) compare(a, b *tenancy) {
	first := a.lease.Support()
	if !a.lease.Valid() || !b.lease.Valid() || !a.lease.Valid() {
		return
	}
	if !a.local {
		l.failLocked("OneValidLease", "%v and %v lead %s with tokens %d and %d", a.process, b.process, a.group, a.lease.Token(), b.lease.Token())
		return
	}
	if both := first.Intersect(b.lease.Support()); !both.Empty() {
		l.failLocked("OneSupport", "%v and %v lead %s, and %v supports both", a.process, b.process, a.group, both)
	}
}

// finish looks at all leases once all members are gone.
func (l *ledger) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.all {
		switch n := t.asked.Load(); {
		case n != 1 || !isClosed(t.lease.Done()):
			l.failLocked("AskedOnce", "%v was asked %d times to stop leading %s", t.process, n, t.group)
		case t.lease.Cause() == nil || t.lease.Cause().Code == protocol.Unexplained:
			l.failLocked("EveryEndHasACause", "%v was asked to stop leading %s without a cause", t.process, t.group)
		}
		if t.after != t.lease.Until() {
			l.failLocked("NothingAfterClose", "the lease of %v for %s moved from %v to %v after the loop had ended", t.process, t.group, t.after, t.lease.Until())
		}
	}
}

// ended takes note of where the leases of a process stand when its loop has ended.
func (l *ledger) ended(p *process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.all {
		if t.process == p {
			t.after = t.lease.Until()
		}
	}
}

// validSince says whether a lease of the group was valid at an instant or later.
func (l *ledger) validSince(g protocol.Group, at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.seen[g].Before(at)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
