package regent

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// long lets leases be longer than those of the profile.
func long(c *Config) {
	c.Timing = LAN
	c.Timing.LongestLease = 10 * time.Second
}

func TestGroupsHaveTheLeasesThatTheirProgramsWant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		members := assemble(t, long, "a", "b", "c")
		a, b := members["a"], members["b"]
		quick := must(must(a.Group("quick")).Campaign(t.Context()))
		slow := must(must(a.Group("slow")).WithLease(5 * time.Second).Campaign(t.Context()))
		time.Sleep(10 * time.Second)
		if r := quick.Remaining(); r <= 0 || r > LAN.Lease {
			t.Errorf("quick: %v remain", r)
		}
		if r := slow.Remaining(); r <= 3*time.Second || r > 5*time.Second {
			t.Errorf("slow: %v remain", r)
		}
		for name, want := range map[string]time.Duration{"quick": LAN.Lease, "slow": 5 * time.Second} {
			for _, m := range []*Member{a, b} {
				if v, err := must(m.Group(name)).View(t.Context()); err != nil || v.Leader != "a" || v.Lease != want {
					t.Errorf("%s: %+v, %v", name, v, err)
				}
			}
		}
		next := make(chan time.Duration)
		for _, g := range []string{"quick", "slow"} {
			go func() {
				begun := time.Now()
				l := must(must(b.Group(g)).Campaign(t.Context()))
				next <- time.Since(begun)
				_ = l.Resign(t.Context())
			}()
		}
		time.Sleep(time.Second)
		release := make(chan struct{})
		_ = a.loop.Do(func(protocol.Time) { <-release }) // it is as good as dead
		if after := <-next; after > time.Second+2*LAN.Lease {
			t.Errorf("quick is led again after %v", after)
		}
		if after := <-next; after < 4*time.Second || after > 7*time.Second {
			t.Errorf("slow is led again after %v", after)
		}
		close(release)
		_, _ = quick.Resign(t.Context()), slow.Resign(t.Context())
	})
}

func TestLeasesThatCannotBeHadAreRefusedByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := assemble(t, long, "a")["a"]
		g := must(m.Group("g"))
		for _, c := range []struct {
			lease time.Duration
			want  string
		}{
			{11 * time.Second, "lease 11s: longer than the longest of the council, 10s"},
			{30 * time.Millisecond, "lease 30ms: too short"},
			{-1, "lease -1ns: too short"},
		} {
			if _, err := g.WithLease(c.lease).Campaign(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: %v", c.lease, err)
			}
		}
		var held []*Lease
		for i := range time.Duration(7) {
			held = append(held, must(must(m.Group("g"+string(rune('0'+i)))).WithLease((i+1)*time.Second).Campaign(t.Context())))
		}
		_, err := g.WithLease(1500 * time.Millisecond).Campaign(t.Context())
		if err == nil || !strings.Contains(err.Error(), "[200ms 1s 2s 3s 4s 5s 6s 7s]") {
			t.Errorf("the ninth length: %v", err)
		}
		_ = held[2].Resign(t.Context())
		l := must(g.WithLease(1500 * time.Millisecond).Campaign(t.Context()))
		// The next program of the group wants another length.
		_ = l.Resign(t.Context())
		l = must(g.WithLease(8 * time.Second).Campaign(t.Context()))
		if r := l.Remaining(); r < 6*time.Second {
			t.Errorf("%v remain of a lease of 8 s", r)
		}
		_ = m.Leave(t.Context())
	})
}

// Long leases are renewed less often, which leaves less room for a guard time; they survive pauses in the same proportion.
func TestTimingForLeasesOfOtherLengths(t *testing.T) {
	long := LAN.ForLease(5 * time.Second)
	if long.Lease != 5*time.Second || long.Renew != 1250*time.Millisecond || LAN.ForLease(0) != LAN || LAN.ForLease(100*time.Millisecond).Renew != LAN.Renew {
		t.Errorf("for 5 s: %+v", long)
	}
	if used := long.Tolerates() + long.Renew + long.Guard + long.RoundTrip; used > long.Lease || used < long.Lease-10*time.Millisecond {
		t.Errorf("a pause of %v, a renewal, a round trip and the guard time take %v", long.Tolerates(), used)
	}
	with := LAN
	with.Guard = 4 * time.Second
	if err := with.CheckLease(5 * time.Second); err == nil || !strings.Contains(err.Error(), "less the renewal interval 1.25s") {
		t.Errorf("a guard time of 4 s: %v", err)
	}
	if local := LAN.LocalLease(); local != LAN.LongestLocalGuard()+LAN.Renew+LAN.rho().WaitAtLeast(directRound*LAN.Delay) {
		t.Errorf("local leases last %v", local)
	}
}

// The doc comment of the profiles has what each tolerates.
func TestProfilesTolerateWhatTheirCommentSays(t *testing.T) {
	for name, of := range map[string]struct {
		timing Timing
		want   time.Duration
	}{"Fast": {Fast, 5 * time.Millisecond}, "LAN": {LAN, 109 * time.Millisecond}, "WAN": {WAN, 997 * time.Millisecond}} {
		if got := of.timing.Tolerates().Truncate(time.Millisecond); got != of.want {
			t.Errorf("%s: pauses of %v", name, got)
		}
	}
}

// hostDies has a member lead a group with leases of LAN, and beside it one of 5 s if mixed, and then be as good as dead. It returns after what time
// each is led by another member, and how long the lease of the second ran on.
func hostDies(t *testing.T, mixed bool, after time.Duration) (quick, slow, left time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		members := assemble(t, long, "a", "b", "c")
		a := members["a"]
		leases := []*Lease{must(must(a.Group("quick")).Campaign(t.Context()))}
		if mixed {
			leases = append(leases, must(must(a.Group("slow")).WithLease(5*time.Second).Campaign(t.Context())))
		}
		led := []chan time.Time{make(chan time.Time, 2), make(chan time.Time, 2)}
		for _, name := range []string{"b", "c"} {
			for i := range leases {
				g := must(members[name].Group(leases[i].Group()))
				if i == 1 {
					g = g.WithLease(5 * time.Second)
				}
				go func() {
					if l, err := g.Campaign(t.Context()); err == nil {
						led[i] <- time.Now()
						<-t.Context().Done()
						_ = l.Resign(context.Background())
					}
				}()
			}
		}
		time.Sleep(after)
		release, begin := make(chan struct{}), time.Now()
		left = leases[len(leases)-1].Remaining()
		_ = a.loop.Do(func(protocol.Time) { <-release })
		quick = (<-led[0]).Sub(begin)
		if mixed {
			slow = (<-led[1]).Sub(begin)
		}
		close(release)
	})
	return quick, slow, left
}

// When a host dies that leads groups with leases of 200 ms and of 5 s, the first are led elsewhere as soon as if there were no others, and the
// second not before their end.
func TestShortLeasesFailOverAsSoonBesideLongOnes(t *testing.T) {
	const trials = 11
	medians := make(map[bool]time.Duration)
	for _, mixed := range []bool{false, true} {
		var all []time.Duration
		for i := range time.Duration(trials) {
			quick, slow, left := hostDies(t, mixed, 3*time.Second+i*7*time.Millisecond)
			all = append(all, quick)
			if mixed && (slow < left || slow > left+time.Second) {
				t.Errorf("slow is led again after %v, and its lease ran for %v", slow, left)
			}
		}
		slices.Sort(all)
		medians[mixed] = all[trials/2]
	}
	t.Logf("medians: %v beside long leases, %v without", medians[true], medians[false])
	if medians[true] > medians[false]*6/5 {
		t.Errorf("beside leases of 5 s a group with leases of %v is led again after %v, without after %v", LAN.Lease, medians[true], medians[false])
	}
}
