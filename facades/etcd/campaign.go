package etcd

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/facades/etcd/internal/belief"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

// errGivenUp fails a campaign whose group the agent wanted back before its client knew that it leads.
var errGivenUp = status.Error(codes.Aborted, "campaign: the agent gave the group up before the client could be told (campaign again)")

// A campaign is one candidacy of a session: for a group, with one key.
type campaign struct {
	session    *etcdSession
	group, key string
	value      atomic.Pointer[string]
	// candidate is that of the agent; nil: it has not begun.
	candidate atomic.Pointer[core.Candidate]
	// leads says that the client was told, and that the session has not given the group up.
	leads atomic.Bool
	// ttl is what the leases of the group allow, and guard is theirs.
	ttl, guard time.Duration
	// stop says that the agent wants the group back, over why the candidacy is over.
	stop atomic.Bool
	over atomic.Pointer[error]
	// settled is closed when the campaign is answered; failure is why it failed.
	settled chan struct{}
	failure error

	// The rest is guarded by the lock of the session.

	// answered says that the client was told that it leads. waiting counts the calls that wait for that.
	answered bool
	waiting  int
}

// keyOf returns the key of a group that a session would have.
func keyOf(group string, id int64) string { return group + "/" + strconv.FormatInt(id, 16) }

// ttlOf returns the TTL that the leases of a group allow, and their guard.
func (s *Server) ttlOf(group string) (ttl, guard time.Duration, err error) {
	t := s.core.TimingOf(group)
	allowed := belief.Allowed(t.Lease, t.Guard, t.Renew)
	if allowed < belief.Shortest {
		need := t.Guard + t.Renew + belief.Slack + belief.Shortest
		return 0, 0, status.Errorf(codes.FailedPrecondition, "group %.40q: leases of %v allow a TTL of %v, and clients of etcd need %v: lease %v, less guard %v, renewal %v and %v for the client's own delay (give the group a longer lease: leases in the agent's configuration; with this renewal %v)",
			group, t.Lease, max(0, allowed), belief.Shortest, t.Lease, t.Guard, t.Renew, belief.Slack, need)
	}
	return allowed, t.Guard, nil
}

// begin enters the candidate.
func (c *campaign) begin() error {
	s := c.session.server
	k, err := s.core.AddCandidate(core.Candidacy{Candidate: session.Candidate{Group: c.group, Name: fmt.Sprintf("etcd client %x", c.session.id), Value: *c.value.Load()}, Via: "etcd", Notifier: c})
	if err != nil {
		return refusal(codes.FailedPrecondition, err)
	}
	c.candidate.Store(k)
	go k.Run()
	return nil
}

// token returns that of the leadership; zero before it is won.
func (c *campaign) token() uint64 {
	if k := c.candidate.Load(); k != nil {
		return k.Token()
	}
	return 0
}

// limit returns until when the client may believe that it leads; Never: it does not lead.
func (c *campaign) limit() protocol.Time {
	k := c.candidate.Load()
	if k == nil || k.Waits() {
		return protocol.Never
	}
	return k.AnnounceEnd().Add(-c.guard)
}

// answer tells the client that it leads.
func (c *campaign) answer() {
	if !c.answered {
		c.answered = true
		c.leads.Store(true)
		c.settle(nil)
	}
}

// settle ends the waiting of the client, once.
func (c *campaign) settle(err error) {
	select {
	case <-c.settled:
	default:
		c.failure = err
		close(c.settled)
	}
}

// giveUp gives the group up, or stops waiting for it.
func (c *campaign) giveUp() {
	c.leads.Store(false)
	if k := c.candidate.Load(); k != nil {
		k.ReportStopped(protocol.Cause{Peer: protocol.Nobody}, core.NewOrder(regent.Cause{Why: why.Resigned, Member: c.session.server.core.About().Name}, ""))
	}
}

// given waits until the group was given up.
func (c *campaign) given(ctx context.Context) {
	k := c.candidate.Load()
	if k == nil {
		return
	}
	select {
	case <-k.Ended:
	case <-ctx.Done():
	}
}

// Leads, Stop, Over, Agreed, Healed and Renewed are of core.Notifier. They only wake the session.
func (c *campaign) Leads(*core.Candidate) { c.session.change() }

func (c *campaign) Stop(*core.Candidate, regent.Cause) {
	c.stop.Store(true)
	c.session.change()
}

func (c *campaign) Over(_ *core.Candidate, cause regent.Cause, err error) {
	if err == nil {
		err = fmt.Errorf("campaign: over: %v", cause)
	}
	err = refusal(codes.Aborted, err)
	c.over.Store(&err)
	c.session.change()
}

func (c *campaign) Agreed(*core.Candidate, regent.View) {}
func (c *campaign) Healed(*core.Candidate, string)      {}
func (c *campaign) Renewed(*core.Candidate)             { c.session.change() }

// join returns the candidacy of the session for a group, a new one if there is none, and whether its client was told already that it leads.
func (s *etcdSession) join(group, value string, ttl, guard time.Duration) (c *campaign, led bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.ending {
		return nil, false, rpctypes.ErrGRPCLeaseNotFound
	}
	if c := s.campaigns[group]; c != nil {
		if !c.answered {
			c.waiting++
		}
		return c, c.answered, nil
	}
	if limit := s.server.core.Config().Limits.Candidates; len(s.campaigns) >= limit {
		return nil, false, status.Errorf(codes.ResourceExhausted, "campaign: %d of this session are under way, which is the limit (limits.candidates)", limit)
	}
	c = &campaign{session: s, group: group, key: keyOf(group, s.id), ttl: ttl, guard: guard, settled: make(chan struct{}), waiting: 1}
	c.value.Store(&value)
	s.belief.Limit(min(s.belief.TTL(), ttl))
	s.campaigns[group] = c
	s.server.remember(c)
	s.change()
	return c, false, nil
}

// joined ends the waiting of a call, which its client may have cancelled. What nobody waits for is given up.
func (s *etcdSession) joined(c *campaign, cancelled error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.waiting--
	if cancelled == nil {
		return c.failure
	}
	if c.waiting == 0 && s.campaigns[c.group] == c {
		c.giveUp()
		s.leave(c, status.FromContextError(cancelled).Err())
	}
	return status.FromContextError(cancelled).Err()
}

// led returns the leadership of the session with a token; nil: there is none. A session that is ending has it until its client says that it has stopped.
func (s *etcdSession) led(group string, token uint64) *campaign {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.campaigns[group]; c != nil && c.answered && c.token() == token {
		return c
	}
	return nil
}

// resign gives a group up: its client has stopped.
func (s *etcdSession) resign(c *campaign) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.giveUp()
	s.leave(c, errGivenUp)
}

// remember and forget keep the books of candidacies.
func (s *Server) remember(c *campaign) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.groups[c.group] == nil {
		s.groups[c.group] = make(map[*campaign]struct{})
	}
	s.groups[c.group][c] = struct{}{}
}

func (s *Server) forget(c *campaign) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.groups[c.group], c)
	if len(s.groups[c.group]) == 0 {
		delete(s.groups, c.group)
	}
}
