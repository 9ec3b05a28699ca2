package socket

import (
	"fmt"
	"testing"

	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

// Every client may report a cause, and name whom it likes in it. The agent keeps no name that is not of the council.
func TestCausesOfClientsNameMembersOnly(t *testing.T) {
	a := new(core.Agent)
	self := a.Names.Enter("a")
	c := &conn{agent: &Server{core: a}}
	cause := func(member string) protocol.Cause {
		return c.cause(&session.Request{Cause: &why.Cause{Why: why.Resigned, Member: member}})
	}
	if got := cause("a"); got.Peer != self || a.CauseOf(got).Member != "a" {
		t.Errorf("a member has rank %d in a cause, want %d", got.Peer, self)
	}
	for i := range 3 {
		if got := cause(fmt.Sprint("stranger ", i)); got.Peer != protocol.Nobody || got.Code != protocol.Resigned {
			t.Errorf("a stranger has rank %d in a cause with the code %v", got.Peer, got.Code)
		}
	}
	if next := a.Names.Enter("b"); next != self+1 {
		t.Errorf("strangers were entered: the next member has rank %d", next)
	}
}
