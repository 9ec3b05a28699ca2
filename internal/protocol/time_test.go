package protocol_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/regentproject/regent/internal/protocol"
)

func instants() *rapid.Generator[protocol.Time] {
	return rapid.OneOf(
		rapid.SampledFrom([]protocol.Time{math.MinInt64, -1, 0, 1, protocol.Never - 1, protocol.Never}),
		rapid.Map(rapid.Int64(), func(t int64) protocol.Time { return protocol.Time(t) }),
	)
}

// cut returns x, or the nearest number that an int64 can hold.
func cut(x *big.Int) int64 {
	switch {
	case x.IsInt64():
		return x.Int64()
	case x.Sign() > 0:
		return math.MaxInt64
	}
	return math.MinInt64
}

func TestTimeArithmeticSaturates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := instants().Draw(t, "a"), instants().Draw(t, "b")
		x, y := big.NewInt(int64(a)), big.NewInt(int64(b))
		if got, want := a.Sub(b), time.Duration(cut(new(big.Int).Sub(x, y))); got != want {
			t.Fatalf("%d.Sub(%d) = %d, want %d", a, b, got, want)
		}
		want := protocol.Time(cut(new(big.Int).Add(x, y)))
		if a == protocol.Never {
			want = protocol.Never
		}
		if got := a.Add(time.Duration(b)); got != want {
			t.Fatalf("%d.Add(%d) = %d, want %d", a, b, got, want)
		}
	})
}

func TestNeverAbsorbs(t *testing.T) {
	for _, d := range []time.Duration{math.MinInt64, -time.Hour, 0, 1, time.Hour, math.MaxInt64} {
		if got := protocol.Never.Add(d); got != protocol.Never {
			t.Errorf("Never plus %v is %v", d, got)
		}
	}
	if got := protocol.Time(5).Add(protocol.Unknown); got != protocol.Never {
		t.Errorf("an unknown time after 5ns is %v", got)
	}
}

func TestLongerLengthNeverLeadsToEarlierInstant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := instants().Draw(t, "a")
		d, e := time.Duration(rapid.Int64().Draw(t, "d")), time.Duration(rapid.Int64().Draw(t, "e"))
		if a.Add(min(d, e)) > a.Add(max(d, e)) {
			t.Fatalf("%d plus %v is later than plus %v", a, min(d, e), max(d, e))
		}
	})
}

func TestTimeShowsSecondsOfTheClock(t *testing.T) {
	for at, want := range map[protocol.Time]string{
		0: "0s", 12_034_500_000: "12.0345s", 1500: "1.5µs", -2_000_000_000: "-2s", protocol.Never: "never",
	} {
		if got := at.String(); got != want {
			t.Errorf("%d shows as %q, want %q", int64(at), got, want)
		}
	}
}
