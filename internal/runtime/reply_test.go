package runtime

import (
	"slices"
	"testing"

	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/wire"
	"github.com/regentproject/regent/internal/wire/wiretest"
)

// b rotates its key and comes back from a backup of before that. It can open the proof.
func TestOutdatedStartWithAnOldKeyIsAnswered(t *testing.T) {
	first, next := wiretest.Private("b"), wiretest.Private("b, rotated")
	pairs := func(self protocol.Rank, own ...identity.Private) *wire.Pairs {
		p, err := wire.NewPairs(wire.PairsConfig{Ring: wire.PublicKeyring(), Self: self, Private: own, Members: []wire.Identity{
			{Name: "a", Keys: []identity.Public{wiretest.Private("a").Public()}}, {Name: "b", Keys: []identity.Public{first.Public(), next.Public()}}}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	set := func(i int, p *wire.Pairs) {
		if err := d.ports[i].SetKeys(p); err != nil {
			t.Fatal(err)
		}
	}
	set(0, pairs(0, wiretest.Private("a")))
	set(1, pairs(1, next))
	d.ports[1].Rename(9)
	d.greet() // a has heard b as 9, with its next key
	d.ports[1] = d.port(t, 1, summary("b", "x"))
	set(1, pairs(1, first))
	d.ports[0].Outdated = func() protocol.Message { return &nerio.Outdated{} }
	d.ports[1].Send(d.now, 0, 0, &nerio.Recover{Nonce: 1})
	d.ports[1].Flush()
	d.pass(nil)
	d.ports[0].Send(d.now, 1, 0, &nerio.Stale{Heard: protocol.Life{Inc: 9}})
	d.ports[0].Flush()
	d.pass(nil)
	if !slices.Contains(d.got[1], "nerio.Stale") {
		t.Errorf("the outdated start received %v, want the proof", d.got[1])
	}
	if d.ports[0].Wire.Replies(1) {
		t.Error("the reply is owed though it was sent")
	}
}
