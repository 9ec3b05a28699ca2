package transport

import (
	"bytes"
	"encoding/binary"
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

// The kernel drops what an exception names, to the number, and nothing beside it: whatever else the datagram says, and with another filter to try.
func TestKernelAppliesExceptions(t *testing.T) {
	in, err := Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	numbers := Field{Offset: 1, Size: 4, Any: []uint32{77}, Within: [][2]uint32{{0, 9}, {20, 20}, {1<<32 - 2, 1<<32 - 1}}}
	f := &Filter{Shortest: 5, Longest: 5, Except: [][]Field{{{Size: 1, Any: []uint32{'a'}}, numbers}, {{Size: 1, Any: []uint32{'b', 'c'}}, {Offset: 1, Size: 4, Within: [][2]uint32{{5, 6}}}}},
		Or: &Filter{Shortest: 5, Longest: 5, Fields: []Field{{Offset: 1, Size: 4, Any: []uint32{9}}}}}
	if err := f.Check(); err != nil {
		t.Fatal(err)
	}
	if err := in.(Filterer).SetFilter(f); err != nil {
		t.Fatal(err)
	}
	out, err := Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var want [][]byte
	dropped := 0
	for _, who := range "abcd" {
		for _, n := range []uint32{0, 1, 4, 5, 6, 7, 8, 9, 10, 19, 20, 21, 76, 77, 78, 1<<32 - 3, 1<<32 - 2, 1<<32 - 1} {
			b := binary.BigEndian.AppendUint32([]byte{byte(who)}, n)
			if f.Passes(b) {
				want = append(want, b)
			} else {
				dropped++
			}
			if _, err := out.Write([]Packet{{Data: b, Addr: in.LocalAddr()}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if dropped != 7+1+1+2+2*2 { // of a those up to 8, for 9 passes the other filter; of b and c two each
		t.Errorf("%d are to be dropped", dropped)
	}
	ps := NewPackets(1)
	timer := time.AfterFunc(10*time.Second, func() { _ = in.Close() })
	defer timer.Stop()
	for _, b := range want {
		if _, err := in.Read(ps); err != nil || !bytes.Equal(ps[0].Data, b) {
			t.Fatalf("got %x, %v, want %x", ps[0].Data, err, b)
		}
	}
}

// The kernel lets in all datagrams with known values, some of the others, and what passes the other filter.
func TestKernelLetsInUnknownOnesByChance(t *testing.T) {
	in, err := Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	f := &Filter{Shortest: 5, Longest: 5, Fields: []Field{{Size: 1, Any: []uint32{'k'}}}, Sample: 4, Known: &Field{Offset: 1, Size: 4, Any: []uint32{1, 2}},
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
		{Shortest: 8, Longest: 9, Fields: []Field{{Size: 1, Within: make([][2]uint32, maxAny/2+1)}}}, {Shortest: 8, Longest: 9, Except: make([][]Field, maxExcept+1)},
		{Shortest: 8, Longest: 9, Except: [][]Field{{{Size: 3}}}}, {Shortest: 8, Longest: 9, Known: &Field{Size: 4, Any: make([]uint32, maxKnown+1)}}, {Shortest: 8, Longest: 9, Or: &Filter{Longest: MaxDatagram + 1}}} {
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
	if 2*maxCharge >= 20<<10 {
		t.Errorf("two filters of %d bytes exceed 20 KB", maxCharge)
	}
	// Large values cost the kernel one instruction more.
	large := func(n int) (all []uint32) {
		for i := range n {
			all = append(all, 1<<32-1-uint32(i))
		}
		return all
	}
	row := []Field{{Offset: 4, Size: 4, Within: make([][2]uint32, 16)}}
	for i := range row[0].Within {
		row[0].Within[i] = [2]uint32{1<<32 - 100, 1<<32 - 1}
	}
	for range 9 {
		row = append(row, Field{Offset: 8, Size: 4, Any: large(1)})
	}
	for _, known := range []int{0, 4, 64, 200} {
		for rows := range maxExcept + 1 {
			f := &Filter{Shortest: 100, Longest: 1200, Sample: 64, Known: &Field{Offset: 70, Size: 4, Any: large(known)}, Fields: []Field{{Size: 2, Any: large(1)}, {Offset: 2, Size: 1, Below: 3}},
				Or: &Filter{Shortest: 50, Longest: 50, Sample: 64, Fields: []Field{{Size: 2, Any: large(2)}}}}
			for range rows {
				f.Except = append(f.Except, row)
			}
			if err := in.(Filterer).SetFilter(f); err != nil {
				t.Fatal(err)
			}
			if got := charged(); got == 0 || got > f.Charge() || 2*got < f.Charge() {
				t.Errorf("%d rows and %d known values: the kernel charges %d, expected %d", rows, known, got, f.Charge())
			}
			f.Fit()
			if f.Charge() > maxCharge && len(f.Except) > 0 || known < 5 && len(f.Except) != rows || known == 200 && len(f.Except) > 1 {
				t.Errorf("%d rows and %d known values: %d rows stay, charge %d", rows, known, len(f.Except), f.Charge())
			}
		}
	}
}
