package lease

import (
	"testing"

	"github.com/regentproject/regent/internal/protocol"
)

// An attempt without a quorum in reach claims nothing, and asks all the same. When a quorum answers it claims, and has as much time as any.
func TestScoutHasAWholeAttemptOnceAQuorumIsInReach(t *testing.T) {
	c := newCouncil(t, plain(3))
	h := c.members[0].holder
	c.deaf = protocol.NewSet(1, 2)
	c.try(0, "g")
	c.tick(250 * ms) // the attempt has failed
	if len(h.trying) > 0 {
		t.Fatal("the first attempt goes on")
	}
	if !h.voters[1].deaf || !h.voters[2].deaf || h.voters[0].deaf {
		t.Fatalf("deaf: %v, %v, and itself %v", h.voters[1].deaf, h.voters[2].deaf, h.voters[0].deaf)
	}
	known := c.members[0].grantor.Known(c.now, "g")
	c.sent = nil
	c.try(0, "g")
	tried := h.tenures["g"]
	c.tick(150 * ms)
	asked := 0
	for _, e := range c.sent {
		if r, ok := e.msg.(*Request); ok && e.from == 0 {
			if len(r.Claims) > 0 {
				t.Fatalf("%+v claims", r)
			}
			if e.to == 1 {
				asked++
			}
		}
	}
	if asked < 3 || !tried.scouts() || c.members[0].grantor.Known(c.now, "g") != known {
		t.Fatalf("asked %d times; scouts %v; knows %d after %d", asked, tried.scouts(), c.members[0].grantor.Known(c.now, "g"), known)
	}
	c.do(0, func(h *half) { h.holder.voters[1].deaf = false }) // as an answer does
	if tried.scouts() || tried.start != c.now || tried.due < c.now.Add(190*ms) {
		t.Errorf("claims %v, began at %v, ends at %v, now %v", !tried.scouts(), tried.start, tried.due, c.now)
	}
	c.deaf = protocol.Set{}
	c.tick(60 * ms)
	if l := c.led(0, "g"); l.Token != known+1 {
		t.Errorf("token %d, want %d", l.Token, known+1)
	}
}
