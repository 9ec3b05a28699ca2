package runtime

import (
	"net/netip"
	"testing"

	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/transport"
	"github.com/regentproject/regent/internal/wire"
)

// A post is a socket that keeps what is written to it.
type post struct{ out []transport.Packet }

func (p *post) Write(packets []transport.Packet) (int, error) {
	p.out = append(p.out, packets...)
	return len(packets), nil
}
func (p *post) Read([]transport.Packet) (int, error)    { return 0, nil }
func (p *post) TryRead([]transport.Packet) (int, error) { return 0, nil }
func (p *post) Close() error                            { return nil }
func (p *post) LocalAddr() netip.AddrPort               { return netip.AddrPort{} }

func heraldOf(t *testing.T, offer *council.Chosen) (*Herald, *post) {
	t.Helper()
	ring, err := wire.NewKeyring([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	p := new(post)
	h := &Herald{Socket: p, Trusted: func(identity.Public) bool { return true }, Offer: func() *council.Chosen { return offer }}
	h.SetCourier(wire.NewCourier(ring, []identity.Private{identity.Draw()}))
	return h, p
}

// A configuration of several packets is fetched, each part by a question of its own, and no more than so many questions are answered.
func TestConfigurationIsFetched(t *testing.T) {
	conf := &council.Config{Council: protocol.CouncilID{1}, Number: 7, Terms: council.Terms{Longest: 1e9, Rho: protocol.DefaultRho, Settings: string(make([]byte, 2500))},
		Members: []council.Member{{Name: "a", Role: council.Leader}}}
	owner, answers := heraldOf(t, &council.Chosen{Conf: conf, Bound: 5e9})
	asker, questions := heraldOf(t, nil)
	at := []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:1")}
	var got *council.Chosen
	asker.Ask(1, 0, at)
	for range 2 { // the first part, and then the others
		for _, q := range questions.out {
			owner.Take(1, q.Data, at[0])
		}
		questions.out = nil
		for _, a := range answers.out {
			chosen, r := asker.Take(1, a.Data, at[0])
			if r.Dropped() {
				t.Fatal(r)
			}
			if chosen != nil {
				got = chosen
			}
		}
		answers.out = nil
	}
	if got == nil || got.Bound != 5e9 || got.Conf.Digest() != conf.Digest() {
		t.Fatalf("it has fetched %+v", got)
	}
	asker.Ask(2, 8, at)
	if len(questions.out) != 0 {
		t.Error("it asks more often than once in a second")
	}
	asker.Ask(protocol.Time(askEvery)+1, 8, at)
	question := questions.out[0].Data
	owner.Take(2, append([]byte(nil), question...), at[0])
	if len(answers.out) != 0 {
		t.Error("a member that has the configuration is told it again")
	}
	asker.Ask(protocol.Time(2*askEvery)+1, 0, at)
	for range 3 * answersEach {
		owner.Take(2e9, append([]byte(nil), questions.out[1].Data...), at[0])
	}
	if len(answers.out) != answersEach {
		t.Errorf("%d questions of a second are answered", len(answers.out))
	}
}
