package socket

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/core/coretest"
	"github.com/regentproject/regent/internal/session"
)

// idleSessions returns what serves programs, of an agent that is no member yet.
func idleSessions(t *testing.T) *Server {
	t.Helper()
	a := coretest.Idle(t, "")
	rules, err := access.NewRules(a.Config())
	if err != nil {
		t.Fatal(err)
	}
	g := access.NewGate(a.Log)
	g.SetAccess(rules)
	return New(a, g)
}

// dialIdle opens a session with it.
func dialIdle(t *testing.T, s *Server) *session.Conn {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.Serve(c, c)
		}
	}()
	c, err := session.Dial(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
