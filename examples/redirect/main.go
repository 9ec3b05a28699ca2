// Redirect is a web server that runs on several hosts, of which one answers: the leader. The others redirect to it. Start it on
// each host with the same council and another name; see the scheduler for keys.
//
//	redirect -name a -listen 10.0.0.1:8080 -council a=10.0.0.1:7400,b=10.0.0.2:7400,c=10.0.0.3:7400 -dir /var/lib/redirect
//	curl --location http://10.0.0.2:8080/
//
// Stop one, kill one, unplug one: whichever answers with 200 holds the lease when its answer is ready.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/regentproject/regent"
)

func main() {
	name := flag.String("name", "", "which member of the council this is")
	council := flag.String("council", "", "all members, as name=host:port,...")
	listen := flag.String("listen", "127.0.0.1:8080", "where to serve HTTP; the other hosts redirect to it")
	dir := flag.String("dir", "", "directory for the member's record and the keys, as 'regent keys exchange --dir' fills it")
	flag.Parse()
	if err := run(*name, *council, *listen, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "redirect:", err)
		os.Exit(1)
	}
}

func run(name, council, listen, dir string) error {
	c := regent.Config{Name: name, Dir: dir, Bootstrap: true}
	for member := range strings.SplitSeq(council, ",") {
		name, addr, ok := strings.Cut(member, "=")
		if !ok {
			return fmt.Errorf("council %q: must be a list such as a=host:port,b=host:port", council)
		}
		c.Council = append(c.Council, regent.Peer{Name: name, Addrs: []string{addr}})
	}
	if err := c.ReadKeys(dir); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	m, err := regent.Join(ctx, c)
	if err != nil {
		return err
	}
	defer func() {
		within, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = m.Leave(within)
	}()
	group, err := m.Group("redirect")
	if err != nil {
		return err
	}
	s := &site{group: group, url: "http://" + listen, work: func(q *http.Request) string { return "hello from " + name + "\n" }}
	server := &http.Server{Addr: listen, Handler: s, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.ListenAndServe() }()
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	err = s.lead(ctx)
	stop()
	return errors.Join(err, closed(<-served))
}

// closed leaves out the error of a server that was shut down.
func closed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// site answers while this host leads, and redirects to the leader otherwise.
type site struct {
	group *regent.Group
	url   string
	lease atomic.Pointer[regent.Lease] // nil while this host does not lead
	// work is what only the leader may do. It may take its time.
	work func(*http.Request) string
}

// lead campaigns until ctx ends, and announces where this host serves.
func (s *site) lead(ctx context.Context) error {
	return s.group.Announcing(s.url).Lead(ctx, func(ctx context.Context, l *regent.Lease) error {
		s.lease.Store(l)
		defer s.lease.Store(nil)
		<-ctx.Done()
		return nil
	})
}

// ServeHTTP looks at the lease when the answer is ready: what took too long is not an answer of the leader.
func (s *site) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if l := s.lease.Load(); l != nil {
		answer := s.work(q)
		if l.Valid() {
			w.Header().Set("Regent-Token", fmt.Sprint(l.Token()))
			_, _ = fmt.Fprint(w, answer)
			return
		}
	}
	v, err := s.group.View(q.Context())
	if err != nil || v.Leader == "" || v.Mine || v.Value == "" {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "no leader at the moment", http.StatusServiceUnavailable)
		return
	}
	http.Redirect(w, q, v.Value+q.URL.RequestURI(), http.StatusTemporaryRedirect)
}
