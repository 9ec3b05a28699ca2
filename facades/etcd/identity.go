package etcd

import (
	"context"
	"net"
	"net/http"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/regentproject/regent/agent/access"
)

// identify returns who sent a request: it has the same credentials as over HTTP, and the same rules find out.
func (s *Server) identify(ctx context.Context, token string) *access.Client {
	r := &http.Request{Header: http.Header{}}
	if p, ok := peer.FromContext(ctx); ok {
		r.RemoteAddr = p.Addr.String()
		if t, ok := p.AuthInfo.(credentials.TLSInfo); ok {
			r.TLS = &t.State
		}
	}
	md, _ := metadata.FromIncomingContext(ctx)
	if a := md.Get(":authority"); len(a) > 0 {
		r.Host = a[0]
	}
	if token == "" {
		for _, name := range []string{rpctypes.TokenFieldNameGRPC, rpctypes.TokenFieldNameSwagger} {
			if values := md.Get(name); len(values) > 0 && values[0] != "" {
				token = values[0]
			}
		}
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return s.gate.Identify(r)
}

// Authenticate gives a client that has a token of the configuration that token: its name is the user, and the token the password.
func (s *Server) Authenticate(ctx context.Context, r *pb.AuthenticateRequest) (*pb.AuthenticateResponse, error) {
	c := s.identify(ctx, r.Password)
	if c.Wait > 0 {
		return nil, s.refuseGuesses(c, "authenticate")
	}
	if r.Password == "" || c.String() != "token "+r.Name {
		s.gate.Audit.Refusal(c, "authenticate", "", rpctypes.ErrGRPCAuthFailed)
		return nil, rpctypes.ErrGRPCAuthFailed
	}
	return &pb.AuthenticateResponse{Header: s.header(0), Token: r.Password}, nil
}

// refuseGuesses refuses a source that has guessed tokens too often.
func (s *Server) refuseGuesses(c *access.Client, method string) error {
	err := status.Error(codes.ResourceExhausted, (&access.TooManyGuesses{Wait: c.Wait}).Error())
	s.gate.Audit.Refusal(c, method, "", err)
	return err
}

// authorize returns the context of a request of a client that may ask at all.
func (s *Server) authorize(ctx context.Context, method string) (context.Context, error) {
	if method == pb.Auth_Authenticate_FullMethodName {
		return ctx, nil
	}
	c := s.identify(ctx, "")
	if c.Wait > 0 {
		return nil, s.refuseGuesses(c, method)
	}
	if c.Role < access.Reader {
		err := status.Error(codes.Unauthenticated, "authentication required (give etcdctl --user NAME:TOKEN with a token of http.tokens, or a client certificate; http.anonymous is for clients without one)")
		s.gate.Audit.Refusal(c, method, "", err)
		return nil, err
	}
	return context.WithValue(ctx, access.ClientKey{}, c), nil
}

func (s *Server) authorizeCall(ctx context.Context, r any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	ctx, err := s.authorize(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	return next(ctx, r)
}

// An identified is a stream with its sender in its context.
type identified struct {
	grpc.ServerStream
	ctx context.Context
}

func (i *identified) Context() context.Context { return i.ctx }

func (s *Server) authorizeStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	ctx, err := s.authorize(stream.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	return next(srv, &identified{stream, ctx})
}

// permitLead says why the sender of a request may not lead a group.
func (s *Server) permitLead(ctx context.Context, group string) error {
	c := access.ClientOf(ctx)
	err := s.gate.Permit(c, access.MayLead, group)
	if c.Role < access.Writer {
		err = status.Error(codes.PermissionDenied, "campaign: needs another role (use a token of role write, or a certificate of http.tls.write_names)")
	}
	if err != nil {
		s.gate.Audit.Refusal(c, "campaign", group, err)
		return refusal(codes.PermissionDenied, err)
	}
	return nil
}

// permitRead says why the sender of a request may not look at a group.
func (s *Server) permitRead(ctx context.Context, group string) error {
	if s.gate.Readable(ctx)(group) {
		return nil
	}
	c := access.ClientOf(ctx)
	err := status.Errorf(codes.PermissionDenied, "group %.40q: %s may not read it (rights, in the agent's configuration)", group, c)
	s.gate.Audit.Refusal(c, "read", group, err)
	return err
}

// refusal gives an error of the agent a code, unless it has one.
func refusal(code codes.Code, err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.Error(code, err.Error())
}

// owner names the sender of a request, for what only it may use.
func owner(ctx context.Context) string { return access.ClientOf(ctx).String() }

// source is the address that the sender of a request has: what counts as one against limits.
func source(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return ""
	}
	host, _, err := net.SplitHostPort(p.Addr.String())
	if err != nil {
		return p.Addr.String()
	}
	return host
}
