package party

import (
	"net"
	"testing"
	"time"
)

func TestReaderKnowsWhatWasNotDealtWith(t *testing.T) {
	l, err := net.Listen("unix", t.TempDir()+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r := NewReader(in)
	want := func(what string, unread bool) {
		t.Helper()
		if r.Unread() != unread {
			t.Errorf("%s: %v", what, !unread)
		}
	}
	want("nothing was sent", false)
	if _, err := out.Write([]byte("one\n")); err != nil {
		t.Fatal(err)
	}
	want("something waits", true)
	buffer := make([]byte, 16)
	if n, err := r.Read(buffer); n != 4 || err != nil {
		t.Fatalf("read %d, %v", n, err)
	}
	want("it was read and not dealt with", true)
	read := make(chan error)
	go func() { _, err := r.Read(buffer); read <- err }()
	for r.Unread() {
		time.Sleep(time.Millisecond) // wall clock: a real socket
	}
	_ = out.Close()
	if err := <-read; err == nil {
		t.Error("no end")
	}
	want("the connection has ended", false)
}
