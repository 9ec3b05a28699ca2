package datagram

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// instant draws an instant of some clock, of any size that a clock may show.
func instant(r *rand.Rand) protocol.Time {
	return protocol.Time(r.Int64N(1 << (20 + r.IntN(42))))
}

func rat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

// exact is the bound of PROTOCOLS 1.4 in rational numbers; C-B is a length that was waited if it is not negative.
func exact(c *Config, a, b, sent, now protocol.Time) *big.Rat {
	rho := big.NewRat(int64(c.Rho), billion)
	one := rat(1)
	slow, fast := new(big.Rat).Sub(one, rho), new(big.Rat).Add(one, rho)
	total := new(big.Rat).Quo(rat(int64(now-a)), slow)
	by := fast
	if sent < b {
		by = slow
	}
	held := new(big.Rat).Quo(rat(int64(sent-b)), by)
	total.Sub(total, held)
	return total.Sub(total, rat(int64(c.MinDelay)))
}

func TestBoundIsTheExactOneRoundedUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		c := &Config{Rho: protocol.Rho(r.Int64N(1 << (1 + r.IntN(28)))), MinDelay: time.Duration(r.Int64N(1000))}
		a := instant(r)
		b := instant(r)
		h := &Header{Sent: b + protocol.Time(r.Int64N(1<<40)) - 1<<38, Echo: Echo{Sent: a, Received: b}}
		now := a + instant(r)/2
		got := c.bound(h, now)
		want := exact(c, a, b, h.Sent, now)
		if got == protocol.Unknown {
			if over := rat(math.MaxInt64 / 2); want.Cmp(over) < 0 {
				t.Fatalf("unknown, want %v", want.FloatString(3))
			}
			continue
		}
		if low := want; rat(int64(got)).Cmp(low) < 0 {
			t.Fatalf("rho %v, echo %v, sent %v, now %v: bound %d is below %v", c.Rho, h.Echo, h.Sent, now, got, want.FloatString(3))
		}
		if high := new(big.Rat).Add(want, rat(2)); rat(int64(got)).Cmp(high) > 0 {
			t.Fatalf("rho %v, echo %v, sent %v, now %v: bound %d is far above %v", c.Rho, h.Echo, h.Sent, now, got, want.FloatString(3))
		}
	}
}

// The two echoes are compared by the bounds that they give, in rational numbers, for some datagram to come.
func TestBetterEchoGivesNoLargerBound(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	smaller, larger := 0, 0
	for range 20_000 {
		c := &Config{Rho: protocol.Rho(r.Int64N(10_000_000))}
		older := Echo{Sent: instant(r), Received: instant(r)}
		step := protocol.Time(r.Int64N(1 << (5 + r.IntN(30))))
		newer := Echo{Sent: older.Sent + step + protocol.Time(r.Int64N(1<<20)) - 1<<19, Received: older.Received + step}
		sent, now := newer.Received+5, max(newer.Sent, older.Sent)+instant(r)/2
		first := exact(c, older.Sent, older.Received, sent, now)
		second := exact(c, newer.Sent, newer.Received, sent, now)
		want := second.Cmp(first) <= 0
		if got := better(newer, older, c.Rho); got != want {
			t.Fatalf("rho %v, %v against %v: better %v, but the bounds are %v and %v", c.Rho, newer, older, got, second.FloatString(3), first.FloatString(3))
		}
		if want {
			smaller++
		} else {
			larger++
		}
	}
	if smaller < 1000 || larger < 1000 {
		t.Fatalf("%d better and %d worse echoes: too few of one kind to prove anything", smaller, larger)
	}
}
