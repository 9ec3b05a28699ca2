package session

import (
	"errors"
	"net"
	"path/filepath"
	"syscall"
	"testing"
)

// An agent that is killed with requests unread resets its connections. That is an error like others.
func TestGreetingOfAnAgentThatIsKilledFails(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	mine, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	its, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mine.Write([]byte("unread")); err != nil {
		t.Fatal(err)
	}
	if err := its.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := newIntake(mine, mine).Read(make([]byte, 8)); n != 0 || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read %d bytes, %v", n, err)
	}
}
