package etcd

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/regentproject/regent/facades/etcd/internal/belief"
)

// longestTTL is the longest that any group allows, and not less than a group needs: sessions that lead nothing may have it.
func (s *Server) longestTTL() time.Duration {
	about, file := s.core.About(), s.core.Config()
	t := s.core.TimingOf("")
	longest := max(belief.Shortest, belief.Allowed(t.Lease, t.Guard, t.Renew))
	for i := range file.Leases {
		t := about.Timing.ForLease(file.Leases[i].Lease)
		longest = max(longest, belief.Allowed(t.Lease, t.Guard, t.Renew))
	}
	return longest
}

// maxAsked bounds the TTLs that are asked for, in seconds, as etcd does.
const maxAsked = 9_000_000_000

// LeaseGrant begins a session.
func (s *Server) LeaseGrant(ctx context.Context, r *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error) {
	switch {
	case r.ID != 0:
		return nil, unserved("a lease with an id of its client")
	case r.TTL > maxAsked:
		return nil, rpctypes.ErrGRPCLeaseTTLTooLarge
	case r.TTL < 1:
		return nil, status.Errorf(codes.InvalidArgument, "lease: TTL %d: must be at least 1 s", r.TTL)
	}
	ttl := s.longestTTL()
	if asked := r.TTL; asked < int64(ttl/time.Second) {
		ttl = time.Duration(asked) * time.Second
	}
	ttl = belief.Granted(ttl, ttl)
	n := &etcdSession{server: s, id: int64(random()), owner: owner(ctx), source: source(ctx), changed: make(chan struct{}, 1), granted: ttl,
		belief: belief.New(s.core.Now(), min(ttl, belief.Shortest)), campaigns: make(map[string]*campaign)}
	if err := s.enter(n); err != nil {
		return nil, err
	}
	go n.run()
	return &pb.LeaseGrantResponse{Header: s.header(0), ID: n.id, TTL: int64(ttl / time.Second)}, nil
}

// enter puts a session into the books, if there is room.
func (s *Server) enter(n *etcdSession) error {
	limits := s.core.Config().Limits
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return status.Error(codes.Unavailable, "lease: the agent stops")
	case len(s.sessions) >= limits.Connections:
		return status.Errorf(codes.ResourceExhausted, "lease: %d sessions are open, which is the limit (limits.connections)", limits.Connections)
	case s.sources[n.source] >= limits.PerSource:
		return status.Errorf(codes.ResourceExhausted, "lease: %d sessions of %s are open, which is the limit (limits.per_source)", limits.PerSource, n.source)
	}
	s.sessions[n.id] = n
	s.sources[n.source]++
	return nil
}

// drop takes a session out of the books.
func (s *Server) drop(n *etcdSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[n.id] != n {
		return
	}
	delete(s.sessions, n.id)
	if s.sources[n.source]--; s.sources[n.source] == 0 {
		delete(s.sources, n.source)
	}
}

// find returns a session of the sender of a request; nil: it has none of that id.
func (s *Server) find(ctx context.Context, id int64) *etcdSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.sessions[id]; n != nil && n.owner == owner(ctx) {
		return n
	}
	return nil
}

// LeaseRevoke ends a session: its client has stopped. It is answered when its groups were given up.
func (s *Server) LeaseRevoke(ctx context.Context, r *pb.LeaseRevokeRequest) (*pb.LeaseRevokeResponse, error) {
	n := s.find(ctx, r.ID)
	if n == nil {
		return nil, rpctypes.ErrGRPCLeaseNotFound
	}
	for _, c := range n.revoke() {
		c.given(ctx)
	}
	return &pb.LeaseRevokeResponse{Header: s.header(0)}, nil
}

// An aliveStream is a stream of keep-alives.
type aliveStream struct {
	belief.Stream
	// ended has sessions whose client is to be told that they are over.
	ended chan int64
}

// maxEnded is how many of those may wait to be written. More are not told: their TTL runs out.
const maxEnded = 64

// end has the client told that a session is over. It does not wait.
func (a *aliveStream) end(id int64) {
	select {
	case a.ended <- id:
	default:
	}
}

// LeaseKeepAlive answers keep-alives for as long as the client sends them, or until a session wants proof that an answer was read.
func (s *Server) LeaseKeepAlive(stream pb.Lease_LeaseKeepAliveServer) error {
	ctx := stream.Context()
	conn, _ := ctx.Value(connKey{}).(uint64)
	a := &aliveStream{Stream: belief.Stream{Conn: conn, Number: s.streams.Add(1)}, ended: make(chan int64, maxEnded)}
	asked, failed := make(chan int64), make(chan error, 1)
	go func() {
		for {
			r, err := stream.Recv()
			if err != nil {
				failed <- err
				return
			}
			select {
			case asked <- r.ID:
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case id := <-asked:
			if end, err := s.answerAlive(stream, a, id); end || err != nil {
				return err
			}
		case id := <-a.ended:
			if err := stream.Send(&pb.LeaseKeepAliveResponse{Header: s.header(0), ID: id}); err != nil {
				return err
			}
		case <-failed: // io.EOF, or the client is gone
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// answerAlive answers a keep-alive, and says whether the stream ends behind the answer.
func (s *Server) answerAlive(stream pb.Lease_LeaseKeepAliveServer, a *aliveStream, id int64) (end bool, err error) {
	n := s.find(stream.Context(), id)
	if n == nil { // as etcd answers for leases that it does not have
		return false, stream.Send(&pb.LeaseKeepAliveResponse{Header: s.header(0), ID: id})
	}
	answer, decided := n.keepAlive(a)
	if answer.Give {
		err = stream.Send(&pb.LeaseKeepAliveResponse{Header: s.header(0), ID: id, TTL: int64(answer.TTL / time.Second)})
	}
	n.sent(decided, answer)
	if answer.End && (err != nil || stream.Context().Err() != nil) {
		n.broke(a)
		return true, stream.Context().Err()
	}
	return answer.End, err
}
