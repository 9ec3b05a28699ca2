package agent

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/httpd"
	"github.com/regentproject/regent/internal/owned"
)

// server is what listens.
type server struct {
	agent *Agent
	unix  net.Listener
	tcp   net.Listener // nil if there is none
	// admission bounds the connections of tcp.
	admission *httpd.Admission
	// local takes connections of the unix socket that speak HTTP.
	local *httpd.ConnQueue
	http  [3]*http.Server // on the socket, on TCP, and for probes
	// probes takes connections for role endpoints only; nil if there is no such listener.
	probes net.Listener
	etcd   etcdListener
	// open counts connections on the socket, and tcp ones.
	open  atomic.Int64
	conns sync.WaitGroup

	mu   sync.Mutex
	live map[net.Conn]struct{} // on the socket
}

const (
	// headerLimit is how long a client may take to say what it wants, requestLimit to say all of it, answerLimit to take
	// the answer, and idleLimit how long it may say nothing.
	headerLimit  = 5 * time.Second
	requestLimit = 10 * time.Second
	answerLimit  = 15 * time.Second
	idleLimit    = time.Minute
	maxHeader    = 16 << 10
	// probeConns is how many connections there are for probes at once. Each is short, and the oldest makes room for a new one.
	probeConns = 64
)

// listen opens the socket and the HTTP port.
func (a *Agent) listen() (*server, error) {
	file := a.core.Config()
	s := &server{agent: a, local: httpd.NewConnQueue(), live: make(map[net.Conn]struct{})}
	var err error
	s.unix, err = listenUnix(&file.Socket)
	if err != nil {
		return nil, err
	}
	s.http[0] = a.httpServer(a.web.Authenticate(true, a.handler))
	if err := s.etcd.listen(a, file); err != nil {
		return nil, errors.Join(err, s.unix.Close())
	}
	if err := errors.Join(s.listenHTTP(file), s.listenProbes(file)); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// listenProbes opens the port for load balancers, if there is one.
func (s *server) listenProbes(file *config.File) error {
	if file.HTTP.Probes == "" {
		return nil
	}
	plain, err := net.Listen("tcp", file.HTTP.Probes)
	if err != nil {
		return fmt.Errorf("http.probes: %w: change http.probes, or leave it out", err)
	}
	s.probes = httpd.NewAdmission(plain, func() *config.Limits { return &config.Limits{Connections: probeConns, PerSource: probeConns} })
	s.http[2] = s.agent.httpServer(s.agent.web.Probes())
	return nil
}

// listenHTTP opens the HTTP port, if there is one.
func (s *server) listenHTTP(file *config.File) error {
	a := s.agent
	if file.HTTP.Listen == "" {
		return nil
	}
	plain, err := net.Listen("tcp", file.HTTP.Listen)
	if err != nil {
		return fmt.Errorf("http.listen: %w: is another agent running? change http.listen, or leave it out", err)
	}
	s.admission = httpd.NewAdmission(plain, func() *config.Limits { return &a.core.Config().Limits })
	a.web.Admission.Store(s.admission)
	s.tcp = s.admission
	s.http[1] = a.httpServer(a.web.Authenticate(false, a.handler))
	if file.HTTP.TLS.Cert != "" {
		conf, err := a.tls(file)
		if err != nil {
			return errors.Join(err, plain.Close())
		}
		s.tcp = tls.NewListener(s.tcp, conf)
	}
	return nil
}

// listenUnix opens the socket. A file that a dead agent left behind is replaced; one of a living agent is not.
func listenUnix(c *config.Socket) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o755); err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	if err := owned.Dir(filepath.Dir(c.Path)); err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	lock, err := lockDir(filepath.Dir(c.Path))
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	defer lock.Close()
	mode, err := c.Permissions()
	if err != nil {
		return nil, err
	}
	group, err := c.GroupID()
	if err != nil {
		return nil, err
	}
	if conn, err := net.DialTimeout("unix", c.Path, time.Second); err == nil {
		_ = conn.Close()
		return nil, fmt.Errorf("socket %s: another agent listens there: stop it, or set socket.path", c.Path)
	}
	if info, err := os.Lstat(c.Path); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("socket %s: is a file of another kind: remove it, or set socket.path", c.Path)
		}
		if err := owned.Is(c.Path, info); err != nil {
			return nil, fmt.Errorf("socket: %w", err)
		}
		if err := os.Remove(c.Path); err != nil {
			return nil, fmt.Errorf("socket: %w", err)
		}
	}
	// Nobody may connect before the permissions are right: the socket gets them while it has another name, which is
	// known to nobody.
	dir, err := os.MkdirTemp(filepath.Dir(c.Path), ".regent-")
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	defer os.RemoveAll(dir)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(dir, "s")})
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	l.SetUnlinkOnClose(false)
	inside := filepath.Join(dir, "s")
	err = os.Chmod(inside, mode)
	if err == nil && group >= 0 {
		err = os.Chown(inside, -1, group)
	}
	if err == nil {
		err = os.Rename(inside, c.Path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("socket: %w", err), l.Close())
	}
	return &unixListener{Listener: l, path: c.Path}, nil
}

// unixListener removes its file when it is closed. It listens until the file is gone, so that it is never another one's.
type unixListener struct {
	net.Listener
	path string
	once sync.Once
}

func (l *unixListener) Close() error {
	l.once.Do(func() { _ = os.Remove(l.path) })
	return l.Listener.Close()
}

// httpServer returns a server with the bounds that all have. The same handlers are on the socket, whose permissions are enough, and on TCP,
// where they are not.
func (a *Agent) httpServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: headerLimit, ReadTimeout: requestLimit,
		WriteTimeout: answerLimit, IdleTimeout: idleLimit, MaxHeaderBytes: maxHeader, ConnContext: httpd.ConnContext,
		ErrorLog: slog.NewLogLogger(a.core.Log.Handler(), slog.LevelDebug)}
}

// tls returns the configuration for TLS. Certificates are those of the configuration in force at each handshake.
func (a *Agent) tls(file *config.File) (*tls.Config, error) {
	if _, err := access.LoadTLS(file); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return a.gate.Access.Load().TLS, nil
	}}, nil
}

// address returns where HTTP is served; empty if it is not.
func (s *server) address() string {
	if s.tcp == nil {
		return ""
	}
	return s.tcp.Addr().String()
}

// serve serves until ctx ends.
func (s *server) serve(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { _ = s.http[0].Serve(s.local) })
	if s.tcp != nil {
		all.Go(func() { _ = s.http[1].Serve(s.tcp) })
	}
	if s.probes != nil {
		all.Go(func() { _ = s.http[2].Serve(s.probes) })
	}
	all.Go(func() { s.etcd.serve(s.agent.core.Log) })
	all.Go(s.accept)
	<-ctx.Done()
	s.close()
	all.Wait()
}

// accept takes connections on the socket.
func (s *server) accept() {
	for {
		c, err := s.unix.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			s.agent.core.Log.Warn("a connection could not be taken", "err", err)
			time.Sleep(50 * time.Millisecond) // out of descriptors: some are given back soon
			continue
		}
		if s.open.Add(1) > int64(s.agent.placesFor(c)) {
			s.open.Add(-1)
			_ = c.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = c.Write([]byte(`{"event":"error","error":"too many connections (limits.connections)"}` + "\n"))
			_ = c.Close()
			continue
		}
		s.conns.Go(func() { s.dispatch(c) })
	}
}

// placesFor returns how many connections the socket may have for another one to be let in. The last are for root and the
// agent's own user, so that an operator can look when other users have used up theirs.
func (a *Agent) placesFor(c net.Conn) int {
	limit := a.core.Config().Limits.Connections
	if access.OfAnotherUser(c) {
		return limit - httpd.Reserved(limit)
	}
	return limit
}

// dispatch finds out which language a connection speaks: a session begins with a brace, HTTP with a word.
func (s *server) dispatch(c net.Conn) {
	in := bufio.NewReaderSize(c, 4<<10)
	_ = c.SetReadDeadline(time.Now().Add(headerLimit))
	first, err := in.Peek(1)
	if err != nil {
		s.open.Add(-1)
		_ = c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	if first[0] != '{' {
		if !s.local.Put(&httpd.Peeked{Conn: c, In: in, Closed: func() { s.open.Add(-1) }}) {
			s.open.Add(-1)
			_ = c.Close()
		}
		return
	}
	defer s.open.Add(-1)
	s.mu.Lock()
	s.live[c] = struct{}{}
	s.mu.Unlock()
	s.agent.programs.Serve(c, in)
	s.mu.Lock()
	delete(s.live, c)
	s.mu.Unlock()
}

// drain lets what was said last reach the clients, and hangs up.
func (s *server) drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = s.unix.Close()
	s.mu.Lock()
	for c := range s.live {
		_ = c.SetReadDeadline(time.Unix(1, 0)) // as if they had hung up: nothing is left to be led
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() { s.conns.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	for _, h := range s.http {
		if h != nil {
			_ = h.Shutdown(ctx)
		}
	}
}

// close hangs up on everybody.
func (s *server) close() {
	_ = s.unix.Close()
	s.local.Shut()
	s.etcd.close()
	for _, h := range s.http {
		if h != nil {
			_ = h.Close()
		}
	}
	for _, l := range []net.Listener{s.tcp, s.probes} {
		if l != nil {
			_ = l.Close()
		}
	}
	s.mu.Lock()
	for c := range s.live {
		_ = c.Close()
	}
	s.mu.Unlock()
}

// permit changes the permissions of the socket.
func (s *server) permit(c *config.Socket) error {
	mode, err := c.Permissions()
	if err != nil {
		return err
	}
	group, err := c.GroupID()
	if err != nil {
		return err
	}
	if group >= 0 {
		if err := os.Chown(c.Path, -1, group); err != nil {
			return err
		}
	}
	return os.Chmod(c.Path, mode)
}
