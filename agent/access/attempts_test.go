package access

import (
	"net/netip"
	"testing"
	"time"
)

func TestAttemptsOfASourceComeBackWithTime(t *testing.T) {
	var a attempts
	now := time.Unix(1e9, 0)
	source := func(i int) netip.Prefix {
		return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 32)
	}
	tried := func(from netip.Prefix) (n int) {
		for n < 100 && a.try(now, from, func() bool { return false }) == 0 {
			n++
		}
		return n
	}
	if n := tried(source(1)); n != attemptBurst {
		t.Errorf("%d attempts at once", n)
	}
	if n := tried(source(2)); n != attemptBurst {
		t.Errorf("another source has %d", n)
	}
	now = now.Add(attemptInterval - 1)
	if n := tried(source(1)); n != 0 {
		t.Errorf("%d attempts too early", n)
	}
	now = now.Add(1)
	if n := tried(source(1)); n != 1 {
		t.Errorf("%d attempts after an interval", n)
	}
	// What is no guess costs nothing, and is looked at after four guesses and not after five.
	for range 4 {
		a.try(now, source(3), func() bool { return false })
	}
	for range 100 {
		if a.try(now, source(3), func() bool { return true }) != 0 {
			t.Fatal("a token that is valid is not looked at")
		}
	}
	a.try(now, source(3), func() bool { return false })
	if a.try(now, source(3), func() bool { t.Error("a token is looked at after five guesses"); return true }) == 0 {
		t.Error("a source that guessed five times need not wait")
	}
	// Many sources cost bounded memory, and lock no other one out.
	for i := range maxSources + 100 {
		tried(source(100 + i))
	}
	if n := tried(source(90000)); len(a.until) > maxSources || n != attemptBurst {
		t.Errorf("%d sources; another one has %d attempts", len(a.until), n)
	}
	now = now.Add(time.Hour)
	if n := tried(source(90001)); n != attemptBurst || len(a.until) != 1 {
		t.Errorf("an hour later: %d attempts, %d sources", n, len(a.until))
	}
}
