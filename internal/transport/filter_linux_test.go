package transport

import (
	"bytes"
	"net/netip"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel's filter lets in what Passes does, and nothing else.
func TestKernelAppliesTheFilter(t *testing.T) {
	in, err := Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	f := &Filter{Shortest: 8, Longest: 12, Fields: []Field{{Offset: 0, Size: 2, Any: []uint32{0x5267}}, {Offset: 2, Size: 1, Below: 3},
		{Offset: 4, Size: 4, Any: []uint32{7, 0xffffffff, 9}}}}
	if err := in.(Filterer).SetFilter(f); err != nil {
		t.Fatal(err)
	}
	out, err := Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var sent, want [][]byte
	for _, head := range []string{"Rg", "Rn", "xx"} {
		for _, version := range []byte{0, 2, 3, 255} {
			for _, key := range []string{"\x00\x00\x00\x07", "\xff\xff\xff\xff", "\x00\x00\x00\x09", "\x00\x00\x00\x08"} {
				for _, more := range []int{-1, 0, 4, 5} {
					b := append(append([]byte(head), version, 0), key...)
					b = append(b, make([]byte, 8)...)[:8+more]
					sent = append(sent, b)
					if f.Passes(b) {
						want = append(want, b)
					}
				}
			}
		}
	}
	if len(want) != 2*3*2 {
		t.Fatalf("%d of %d datagrams pass", len(want), len(sent))
	}
	read := func(n int) (got [][]byte) {
		ps := NewPackets(1)
		timer := time.AfterFunc(10*time.Second, func() { _ = in.Close() })
		defer timer.Stop()
		for range n {
			if _, err := in.Read(ps); err != nil {
				t.Fatalf("after %d of %d: %v", len(got), n, err)
			}
			got = append(got, bytes.Clone(ps[0].Data))
		}
		return got
	}
	for _, b := range sent {
		if _, err := out.Write([]Packet{{Data: b, Addr: in.LocalAddr()}}); err != nil {
			t.Fatal(err)
		}
	}
	for i, got := range read(len(want)) {
		if !bytes.Equal(got, want[i]) {
			t.Errorf("datagram %d is %x, want %x", i, got, want[i])
		}
	}
	for range 2 { // off, and off again
		if err := in.(Filterer).SetFilter(nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := out.Write([]Packet{{Data: []byte("anything"), Addr: in.LocalAddr()}}); err != nil {
		t.Fatal(err)
	}
	if got := read(1); string(got[0]) != "anything" {
		t.Errorf("without a filter %q came", got[0])
	}
}

// The kernel lets in all datagrams with known values, some of the others, and what passes the other filter.
func TestKernelLetsInUnknownOnesByChance(t *testing.T) {
	in, err := Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	f := &Filter{Shortest: 5, Longest: 5, Fields: []Field{{Size: 1, Any: []uint32{'k'}}}, Sample: 4, Odds: []Odds{{Field: Field{Offset: 1, Size: 4, Any: []uint32{1, 2}}}},
		Or: &Filter{Shortest: 3, Longest: 3, Fields: []Field{{Size: 1, Any: []uint32{'o'}}}}}
	if err := in.(Filterer).SetFilter(f); err != nil {
		t.Fatal(err)
	}
	out, err := Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	known, unknown, other, wrong, last := "k\x00\x00\x00\x02", "k\x00\x00\x00\x03", "oxx", "oxxxx", "o!!"
	const rounds = 100
	got := make(map[string]int)
	ps := NewPackets(1)
	timer := time.AfterFunc(10*time.Second, func() { _ = in.Close() })
	defer timer.Stop()
	// In rounds, so that the socket's buffer does not overflow.
	for range rounds {
		for _, text := range []string{known, unknown, unknown, unknown, unknown, other, wrong, last} {
			if _, err := out.Write([]Packet{{Data: []byte(text), Addr: in.LocalAddr()}}); err != nil {
				t.Fatal(err)
			}
		}
		for text := ""; text != last; {
			if _, err := in.Read(ps); err != nil {
				t.Fatalf("after %v: %v", got, err)
			}
			text = string(ps[0].Data)
			got[text]++
		}
	}
	// Of 400 with a chance of 1 in 4, ten standard deviations either way.
	if got[known] != rounds || got[other] != rounds || got[wrong] != 0 || got[unknown] < 15 || got[unknown] > 185 {
		t.Errorf("let in: %v", got)
	}
}

func TestFilterThatCannotBeAppliedIsRefused(t *testing.T) {
	for _, f := range []Filter{{Longest: MaxDatagram + 1}, {Shortest: 2, Longest: 1}, {Shortest: 2, Longest: 9, Fields: []Field{{Offset: 1, Size: 2}}},
		{Shortest: 8, Longest: 9, Fields: []Field{{Size: 3}}}, {Shortest: 8, Longest: 9, Fields: []Field{{Size: 1, Any: make([]uint32, maxAny+1)}}},
		{Shortest: 8, Longest: 9, Odds: []Odds{{Field: Field{Size: 3}}}}, {Shortest: 8, Longest: 9, Odds: []Odds{{Field: Field{Size: 4, Any: make([]uint32, maxProgram)}}}}, {Shortest: 8, Longest: 9, Or: &Filter{Longest: MaxDatagram + 1}}} {
		if f.Check() == nil {
			t.Errorf("%+v was taken", f)
		}
	}
}

// The kernel charges a socket no more for a filter than Charge says, and not much less. Two filters that fit need less than the 20 KB of many kernels together.
func TestKernelChargesNoMoreThanExpected(t *testing.T) {
	in, err := Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	charged := func() (n int) {
		const optmem = 6 // SK_MEMINFO_OPTMEM of linux/sock_diag.h
		err := in.(*udp).control(func(fd int) error {
			var info [optmem + 1]uint32
			size := uint32(unsafe.Sizeof(info))
			_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO, uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
			n = int(info[optmem])
			if errno != 0 {
				return errno
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if room := in.(Filterer).Room(); room != readRoom() || 2*SmallestRoom >= smallestOptmem {
		t.Errorf("the room is %d, and at least %d", room, SmallestRoom)
	}
	values := func(n int, above uint32) (all []uint32) {
		for i := range n {
			all = append(all, above+uint32(i))
		}
		return all
	}
	// Large values cost the kernel one instruction more.
	for _, above := range []uint32{1, 1<<31 - 1000, 1 << 31} {
		for _, n := range []int{0, 4, 33, 64, 900} {
			for _, oneIn := range []uint32{1, 32} {
				f := &Filter{Shortest: 100, Longest: 1200, Sample: 64, Fields: []Field{{Size: 2, Any: []uint32{1 << 15}}, {Offset: 2, Size: 1, Below: 3}},
					Odds: []Odds{{Field: Field{Offset: 70, Size: 4, Any: values(n, above)}}, {Field: Field{Offset: 66, Size: 4, Any: values(n/8, 1<<31)}, OneIn: oneIn}},
					Or:   &Filter{Shortest: 50, Longest: 50, Sample: 64, Fields: []Field{{Size: 2, Any: []uint32{1, 2}}}}}
				if err := in.(Filterer).SetFilter(nil); err != nil {
					t.Fatal(err)
				}
				if err := in.(Filterer).SetFilter(f); err != nil {
					t.Fatal(err)
				}
				if got := charged(); got == 0 || got > f.Charge() || 2*got < f.Charge() {
					t.Errorf("%d values from %d: the kernel charges %d, expected %d", n, above, got, f.Charge())
				}
			}
		}
	}
	for _, room := range []int{0, 100, 500, 5000, SmallestRoom} {
		n := Values(room)
		if o := (Odds{Field: Field{Any: values(n, 1)}}); n > 0 && o.Charge() > room || n < 0 {
			t.Errorf("%d values take %d bytes of %d", n, o.Charge(), room)
		}
		if o := (Odds{Field: Field{Any: values(n+chunk, 1)}}); o.Charge() <= room {
			t.Errorf("more than %d values fit %d bytes", n, room)
		}
	}
}
