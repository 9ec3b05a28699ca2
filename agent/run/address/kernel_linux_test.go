package address

import (
	"errors"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// withCable calls a test in a network of its own: eth0 and eth1, the two ends of a cable.
func withCable(t *testing.T, test func(ip func(words ...string))) {
	t.Helper()
	t.Parallel()
	cluster.Alone(t, func() {
		ip := func(words ...string) {
			if out, err := exec.Command("ip", words...).CombinedOutput(); err != nil {
				t.Errorf("ip %v: %v: %s", words, err, out)
			}
		}
		ip("link", "add", "eth0", "type", "veth", "peer", "name", "eth1")
		ip("link", "set", "eth0", "up")
		ip("link", "set", "eth1", "up")
		test(ip)
	})
}

func parsed(t *testing.T, text string) Address {
	t.Helper()
	a, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// there returns how often the host has the address.
func there(t *testing.T, a Address) int {
	t.Helper()
	places, err := a.Find()
	if err != nil {
		t.Errorf("%v: %v", a, err)
	}
	return len(places)
}

var moving = []string{"10.9.9.9/24@eth0", "10.9.8.1/32@eth0", "10.9.7.0/31@eth0", "fd09::9/64@eth0"}

func TestTheKernelRemovesAnAddressWhoseLifetimeHasPassed(t *testing.T) {
	withCable(t, func(func(...string)) {
		begun := time.Now()
		for _, text := range moving {
			a := parsed(t, text)
			if err := a.Set(time.Second); err != nil || there(t, a) != 1 {
				t.Errorf("%v: is there %d times: %v", a, there(t, a), err)
			}
		}
		for _, text := range moving {
			a := parsed(t, text)
			if err := cluster.Wait(cluster.Patience, "the kernel removes it", func() bool { return there(t, a) == 0 }); err != nil || time.Since(begun) < time.Second {
				t.Errorf("%v: %v after %v", a, err, time.Since(begun))
			}
		}
	})
}

func TestARefreshExtendsTheLifetimeAndADeletionEndsIt(t *testing.T) {
	withCable(t, func(func(...string)) {
		for _, text := range moving {
			a := parsed(t, text)
			if err := errors.Join(a.Set(time.Second), a.Set(time.Hour)); err != nil {
				t.Errorf("%v", err)
			}
		}
		begun := time.Now()
		if err := cluster.Wait(cluster.Patience, "the first lifetime passes", func() bool { return time.Since(begun) > 1500*time.Millisecond }); err != nil {
			t.Error(err)
		}
		for _, text := range moving {
			a := parsed(t, text)
			if there(t, a) != 1 {
				t.Errorf("%v: is there %d times, want it refreshed", a, there(t, a))
			}
			if err := errors.Join(a.Delete(), a.Delete()); err != nil || there(t, a) != 0 {
				t.Errorf("%v: is there %d times after a deletion: %v", a, there(t, a), err)
			}
		}
	})
}

// What another process has added elsewhere or with another prefix goes as well: the host must not have the address.
func TestADeletionLeavesTheAddressNowhere(t *testing.T) {
	withCable(t, func(ip func(...string)) {
		ip("addr", "add", "10.9.9.9/25", "dev", "eth1")
		a := parsed(t, "10.9.9.9/24@eth0")
		if err := a.OnHost(); err == nil || !strings.Contains(err.Error(), "on eth1, without a lifetime") {
			t.Errorf("the host has it: %v", err)
		}
		if left, err := Drop([]string{a.String()}, func(Address) bool { return false }); left != 0 || err != nil || there(t, a) != 0 {
			t.Errorf("%d left: %v", left, err)
		}
		if err := a.OnHost(); err != nil {
			t.Error(err)
		}
		if err := parsed(t, "10.9.9.9/24@eth7").OnHost(); err == nil || !strings.Contains(err.Error(), `no interface "eth7"`) {
			t.Errorf("there is no such interface: %v", err)
		}
	})
}

func TestAProbeFindsAnotherHostAndAnAnnouncementReachesIt(t *testing.T) {
	withCable(t, func(ip func(...string)) {
		other, err := net.InterfaceByName("eth1")
		if err != nil {
			t.Error(err)
			return
		}
		for text, where := range map[string]string{"10.9.9.9/24@eth0": "10.9.9.9/24", "fd09::9/64@eth0": "fd09::9/64"} {
			a := parsed(t, text)
			if who, err := a.Probe(100 * time.Millisecond); who != "" || err != nil {
				t.Errorf("%v: %q answers, and nobody has it: %v", a, who, err)
			}
			ip("addr", "add", where, "dev", "eth1", "nodad")
			if who, err := a.Probe(cluster.Patience); who != other.HardwareAddr.String() || err != nil {
				t.Errorf("%v: %q answers, want %v: %v", a, who, other.HardwareAddr, err)
			}
		}
		for _, text := range []string{"10.9.9.8/24@eth0", "fd09::8/64@eth0"} {
			a := parsed(t, text)
			s, _, err := Address{Prefix: a.Prefix, Interface: "eth1"}.open()
			if err == nil {
				err = errors.Join(s.SetReadDeadline(time.Now().Add(cluster.Patience)), a.Announce())
			}
			if err != nil {
				t.Error(err)
				continue
			}
			for frame := make([]byte, longestFrame); ; {
				n, err := s.Read(frame)
				if err != nil {
					t.Errorf("%v: no announcement came: %v", a, err)
					break
				}
				if _, ok := holder(frame[:n], a.Prefix.Addr()); ok {
					break
				}
			}
			_ = s.Close()
		}
	})
}

// The kernel does not say whether a call has added an address or refreshed it. An interface that was down loses its addresses of version 6, and what neighbours know.
func TestACallThatIsNewsToNeighboursIsKnown(t *testing.T) {
	withCable(t, func(ip func(...string)) {
		k := &Own{Newer: func(Address) bool { return false }}
		four, six := parsed(t, "10.9.9.9/24@eth0"), parsed(t, "fd09::9/64@eth0")
		set := func(when string, want4, want6 bool) {
			for a, want := range map[Address]bool{four: want4, six: want6} {
				if news, err := k.Set(a, time.Hour); err != nil || news != want {
					t.Errorf("%s: %v: news: %v, %v", when, a, news, err)
				}
			}
		}
		await := func(carrier bool) { // the kernel looks at its interfaces now and then
			if err := cluster.Wait(cluster.Patience, "the interface has another state", func() bool {
				link, err := net.InterfaceByName("eth0")
				return err == nil && carrier == (link.Flags&net.FlagRunning != 0)
			}); err != nil {
				t.Error(err)
			}
		}
		await(true)
		set("first", true, true)
		set("refreshed", false, false)
		ip("addr", "del", "10.9.9.9/24", "dev", "eth0")
		set("taken away", true, false)
		ip("link", "set", "eth0", "down")
		ip("link", "set", "eth0", "up")
		await(true)
		set("down for a moment", false, true)
		ip("link", "set", "eth1", "down")
		await(false)
		set("without a carrier", false, false)
		ip("link", "set", "eth1", "up")
		await(true)
		set("with a carrier again", true, true)
	})
}

// No deleter removes an address that a later leadership of the host holds.
func TestAnAddressOfALaterLeadershipIsLeft(t *testing.T) {
	withCable(t, func(func(...string)) {
		a := parsed(t, "10.9.9.9/24@eth0")
		k := &Own{Newer: func(b Address) bool { return a == b }}
		if _, err := k.Set(a, time.Hour); err != nil {
			t.Error(err)
		}
		left, err := Drop([]string{a.String()}, k.Newer)
		err = errors.Join(err, k.Delete(a))
		if err != nil || left != 0 || there(t, a) != 1 {
			t.Errorf("is there %d times, and %d are left: %v", there(t, a), left, err)
		}
	})
}
