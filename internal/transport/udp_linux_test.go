package transport

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A loop polls the socket itself, and takes what is there without waiting.
func TestTryReadDoesNotWait(t *testing.T) {
	a, b := listen(t, "127.0.0.1:0"), listen(t, "127.0.0.1:0").(Pollable)
	ps := NewPackets(4)
	if n, err := b.TryRead(ps); n != 0 || err != nil {
		t.Fatalf("%d, %v, and nothing was sent", n, err)
	}
	fds := []unix.PollFd{{Fd: int32(b.Descriptor()), Events: unix.POLLIN}}
	if n, _ := unix.Poll(fds, 0); n != 0 {
		t.Fatal("readable, and nothing was sent")
	}
	if _, err := a.Write([]Packet{{[]byte("x"), b.LocalAddr()}}); err != nil {
		t.Fatal(err)
	}
	if n, err := unix.Poll(fds, int(10*time.Second/time.Millisecond)); n != 1 {
		t.Fatalf("not readable: %v", err)
	}
	if n, err := b.TryRead(ps); n != 1 || err != nil || string(ps[0].Data) != "x" {
		t.Fatalf("%d, %v", n, err)
	}
	if n, err := b.TryRead(nil); n != 0 || err != nil {
		t.Fatalf("%d, %v, and nothing was asked for", n, err)
	}
}

func TestSocketsDoNotAllocate(t *testing.T) {
	a, b := listen(t, "[::]:0"), listen(t, "127.0.0.1:0").(Pollable)
	in, out := NewPackets(4), []Packet{{[]byte("x"), b.LocalAddr()}, {[]byte("y"), b.LocalAddr()}}
	allocs := testing.AllocsPerRun(200, func() {
		if _, err := a.Write(out); err != nil {
			t.Fatal(err)
		}
		for got := 0; got < 2; {
			n, err := b.TryRead(in)
			if err != nil {
				t.Fatal(err)
			}
			got += n
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations for two datagrams", allocs)
	}
}
