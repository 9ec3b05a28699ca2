package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// A Server shows a page on an address of its own.
type Server struct {
	URL  string
	http *http.Server
}

// Serve serves a handler on addr, such as 127.0.0.1:0. It has no way to know who asks, so it answers only on loopback.
func Serve(addr string, h http.Handler) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	at, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil || !at.Addr().IsLoopback() {
		l.Close()
		return nil, fmt.Errorf("%s: is not a loopback address, and anybody who reaches it could give commands: use 127.0.0.1:PORT", addr)
	}
	s := &Server{URL: "http://" + at.String() + "/"}
	s.http = &http.Server{Handler: onlyHere(at.Port(), h), ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintf(os.Stderr, "the page at %s is gone: %v\n", s.URL, err)
		}
	}()
	return s, nil
}

// Close ends the server and all streams.
func (s *Server) Close() error { return s.http.Close() }

// onlyHere refuses requests under another name than that of this host: a page from elsewhere whose name was made to point
// here would ask under its own.
func onlyHere(port uint16, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, p, err := net.SplitHostPort(r.Host)
		if err != nil {
			host, p = r.Host, "80"
		}
		ip, err := netip.ParseAddr(host)
		if (err != nil || !ip.IsLoopback()) && host != "localhost" || p != fmt.Sprint(port) {
			http.Error(w, fmt.Sprintf("%q: this page is served as 127.0.0.1 and localhost only", r.Host), http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Browse opens a browser, if there seems to be a person in front of one.
func Browse(ctx context.Context, url string) error {
	var c *exec.Cmd
	switch {
	case runtime.GOOS == "darwin":
		c = exec.CommandContext(ctx, "open", url)
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return errors.New("there is no screen")
	default:
		c = exec.CommandContext(ctx, "xdg-open", url)
	}
	if err := c.Start(); err != nil {
		return err
	}
	go func() { _ = c.Wait() }()
	return nil
}
