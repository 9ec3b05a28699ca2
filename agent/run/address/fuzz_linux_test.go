package address

import (
	"net"
	"net/netip"
	"testing"
)

// Frames come from the network: whatever is in them, the holder that they name is what a host has announced for this very address.
func FuzzHolder(f *testing.F) {
	own := net.HardwareAddr{2, 0, 0, 0, 0, 1}
	four, six := netip.MustParseAddr("10.0.0.9"), netip.MustParseAddr("fd00::9")
	for _, ip := range []netip.Addr{four, six} {
		f.Add(announcement(ip, own))
		f.Add(question(ip, own))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, frame []byte) {
		for _, ip := range []netip.Addr{four, six} {
			if who, ok := holder(frame, ip); ok && len(who) != hardwareBytes {
				t.Errorf("%x: %v holds %v", frame, who, ip)
			}
		}
	})
}

// What the parser takes is written as it was read, and names an address of a host.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"10.0.0.9/24@eth0", "fd00::9/64@eth0", "@", "/", "::%eth0/1@x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Parse(text)
		if err != nil {
			return
		}
		b, err := Parse(a.String())
		if err != nil || a != b || a.Prefix.Addr().IsMulticast() {
			t.Errorf("%q: %v, then %v: %v", text, a, b, err)
		}
	})
}
