package loopback

import (
	"net"
	"net/netip"
	"testing"
)

func TestAddressesAreFreeAndGivenOnce(t *testing.T) {
	seen := make(map[string]bool)
	for range 300 {
		addr, err := Free()
		if err != nil {
			t.Fatal(err)
		}
		if seen[addr] {
			t.Errorf("%s was given twice", addr)
		}
		seen[addr] = true
		a, err := netip.ParseAddrPort(addr)
		if err != nil || !a.Addr().IsLoopback() || a.Port() < first || a.Port() >= last {
			t.Errorf("%s: %v", addr, err)
		}
		c, err := net.ListenPacket("udp4", addr)
		if err != nil {
			t.Error(err)
			continue
		}
		defer c.Close()
	}
}

func TestWhatIsTakenIsNotFree(t *testing.T) {
	for _, network := range []string{"udp4", "tcp4"} {
		addr, err := Free()
		if err != nil {
			t.Fatal(err)
		}
		if err := free(addr); err != nil {
			t.Fatalf("before it is taken: %v", err)
		}
		if network == "udp4" {
			c, err := net.ListenPacket(network, addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
		} else {
			l, err := net.Listen(network, addr)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
		}
		if free(addr) == nil {
			t.Errorf("%s is taken by %s and said to be free", addr, network)
		}
	}
}
