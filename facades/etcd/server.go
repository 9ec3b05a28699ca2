package etcd

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"net"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/stats"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/internal/protocol"
)

// An Agent is what the façade needs of the agent. [core.Agent] is one.
type Agent interface {
	About() core.About
	Config() *config.File
	Status() api.AgentStatus
	Known() *core.ChangeLog
	ModeOf(group string) regent.Mode
	TimingOf(group string) regent.Timing
	AcquireStream() (done func(), err error)
	Leader(group string) *core.Candidate
	AddCandidate(p core.Candidacy) (*core.Candidate, error)
	Now() protocol.Time
}

// A Server answers clients of etcd.
type Server struct {
	pb.UnimplementedKVServer
	pb.UnimplementedLeaseServer
	pb.UnimplementedWatchServer
	pb.UnimplementedAuthServer

	core Agent
	gate *access.Gate
	// conns and streams count connections and streams of keep-alives, which have numbers.
	conns, streams atomic.Uint64

	mu       sync.Mutex
	sessions map[int64]*etcdSession
	// sources counts the sessions of each source.
	sources map[string]int
	// groups are the candidacies here of each group.
	groups map[string]map[*campaign]struct{}
	grpc   *grpc.Server // nil before Serve
	closed bool
	// cluster stands for the id of a cluster in answers.
	cluster uint64
}

// New returns a server that is to serve an agent.
func New(a *core.Agent, g *access.Gate) *Server { return newServer(a, g) }

func newServer(a Agent, g *access.Gate) *Server {
	return &Server{core: a, gate: g, sessions: make(map[int64]*etcdSession), sources: make(map[string]int), groups: make(map[string]map[*campaign]struct{}),
		cluster: random()}
}

// random returns a number that no other process has, of 63 bits.
func random() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return binary.BigEndian.Uint64(b[:]) >> 1
}

// The bounds of connections.
const (
	// greeting is how long a client may take for the preface of HTTP/2 and for TLS.
	greeting = 5 * time.Second
	// idle is how long a connection may have no request under way: one of a session always has.
	idle = time.Minute
	// probe is how long a connection may be silent before it is asked whether it lives, and within what time it must answer.
	probe, probed = 10 * time.Second, 5 * time.Second
	// pings is how often clients may do the same.
	pings     = 5 * time.Second
	maxHeader = 16 << 10
)

// Serve answers clients that connect by a listener, until Close. conf may be nil: there is no TLS.
func (s *Server) Serve(l net.Listener, conf *tls.Config) error {
	limits := s.core.Config().Limits
	options := []grpc.ServerOption{
		grpc.ConnectionTimeout(greeting), grpc.MaxHeaderListSize(maxHeader), grpc.MaxRecvMsgSize(int(limits.Body)), grpc.MaxConcurrentStreams(uint32(limits.Candidates)),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: idle, Time: probe, Timeout: probed}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pings, PermitWithoutStream: true}),
		grpc.StatsHandler(&connections{s}), grpc.UnaryInterceptor(s.authorizeCall), grpc.StreamInterceptor(s.authorizeStream), grpc.UnknownServiceHandler(s.refuseUnknown),
	}
	if conf != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(conf)))
	}
	server := grpc.NewServer(options...)
	for _, d := range served() {
		server.RegisterService(d, s)
	}
	s.mu.Lock()
	closed := s.closed
	s.grpc = server
	s.mu.Unlock()
	if closed {
		return l.Close()
	}
	return server.Serve(l)
}

// Close hangs up on all clients. The agent ends what they led.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	server := s.grpc
	s.mu.Unlock()
	if server != nil {
		server.Stop()
	}
}

// connections numbers connections.
type connections struct{ *Server }

type connKey struct{}

// TagConn is of stats.Handler.
func (c *connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return context.WithValue(ctx, connKey{}, c.conns.Add(1))
}

// TagRPC, HandleRPC and HandleConn are of stats.Handler.
func (c *connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }
func (c *connections) HandleRPC(context.Context, stats.RPCStats)                       {}
func (c *connections) HandleConn(context.Context, stats.ConnStats)                     {}

// header is that of an answer. Clients take revisions of it for tokens where the answer is about a campaign.
func (s *Server) header(revision int64) *pb.ResponseHeader {
	return &pb.ResponseHeader{ClusterId: s.cluster, MemberId: s.cluster, Revision: max(1, revision), RaftTerm: 1}
}
