package session

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/page"
	"github.com/regentproject/regent/internal/page/shared"
	"golang.org/x/sys/unix"
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

// handOut is an agent that greets one program with the identity of a page, and hands out memory.
func handOut(t *testing.T, conn *net.UnixConn, identity uint64, memory *shared.Memory) error {
	in := bufio.NewScanner(conn)
	in.Scan()
	to := json.NewEncoder(conn)
	if err := to.Encode(Event{Event: Hello, Version: Version, Member: "a", Now: hostNow(t), Page: identity}); err != nil {
		return err
	}
	in.Scan()
	var r Request
	if err := json.Unmarshal(in.Bytes(), &r); err != nil {
		return err
	}
	line, err := json.Marshal(Event{Event: Mapped, ID: r.ID})
	if err == nil {
		_, _, err = conn.WriteMsgUnix(append(line, '\n'), unix.UnixRights(memory.Descriptor()), nil)
	}
	in.Scan() // bye
	return errors.Join(err, conn.Close())
}

func pageMappings(t *testing.T) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(maps), "regent-page")
}

// A program that connects again and again keeps no page of an old connection, and none that is not the agent's.
func TestPageIsUnmappedWithItsConnection(t *testing.T) {
	const identity = 7
	memory, err := shared.New(page.Size(2, 2))
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	if _, err := page.NewWriter(memory, 2, 2, identity); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	own := pageMappings(t)
	connect := func(announced uint64) {
		served := make(chan error, 1)
		go func() {
			conn, err := l.Accept()
			if err == nil {
				err = handOut(t, conn.(*net.UnixConn), announced, memory)
			}
			served <- err
		}()
		c, err := Dial(context.Background(), l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		if announced == identity {
			want = 1
		}
		if got := pageMappings(t) - own; got != want || (c.page != nil) != (want > 0) {
			t.Errorf("a page %d that was announced as %d is mapped %d times, want %d", identity, announced, got, want)
		}
		if err := errors.Join(c.Close(), <-served); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	}
	connect(identity + 1)
	connect(identity)
	for begun := time.Now(); pageMappings(t) > own; runtime.GC() {
		if time.Since(begun) > 10*time.Second {
			t.Fatalf("%d pages of closed connections are mapped", pageMappings(t)-own)
		}
	}
}
