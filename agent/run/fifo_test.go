//go:build unix

package run

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// allOfIt is what a fifo gets from a leadership that ends by itself.
const allOfIt = "GROUP \"g\" BACKUP 7\nGROUP \"g\" MASTER 7\nGROUP \"g\" BACKUP 7\nGROUP \"g\" STOP 7\n"

// makeFifo makes a pipe.
func makeFifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// An ordinary reader, as cat is one, opens the pipe once and reads to its end. It sees all that happens.
func TestAReaderOfTheFifoSeesAllToTheEnd(t *testing.T) {
	path := makeFifo(t)
	in, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // before anybody writes
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	s := play(t, newFake(1), waitForGo, func(o *Options) { o.Hooks.Fifo = path })
	s.lease() // by now the runner has opened it
	s.letGo()
	if b, err := io.ReadAll(in); err != nil || string(b) != allOfIt {
		t.Errorf("read %q, %v, want %q", b, err, allOfIt)
	}
	s.end(0)
}

// waitForGo is a program that runs until letGo is called.
const waitForGo = `while ! test -e $D/go; do sleep 0.01; done`

func (s *stage) letGo() {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func TestTheFifoIsMadeIfThereIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	s := play(t, newFake(1), waitForGo, func(o *Options) { o.Hooks.Fifo = path })
	s.lease()
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	s.letGo()
	if b, err := io.ReadAll(in); err != nil || string(b) != allOfIt {
		t.Errorf("read %q, %v, want %q", b, err, allOfIt)
	}
	s.end(0)
}

// What is no pipe is refused before anything happens, and left as it was.
func TestAFifoMustBeOne(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	const text = "of somebody's, and longer than a line that a pipe would get"
	if err := os.WriteFile(plain, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		plain:                          "is not a named pipe: make one with mkfifo",
		dir:                            "is not a named pipe",
		"/dev/null":                    "is not a named pipe",
		filepath.Join(dir, "no", "no"): "no such file or directory",
	} {
		a := newFake(1)
		s := play(t, a, `exit 0`, func(o *Options) { o.Hooks.Fifo = path })
		s.end(StatusFailed)
		if s.err == nil || !strings.Contains(s.err.Error(), want) {
			t.Errorf("%s: error %v, want %q", path, s.err, want)
		}
		if len(a.refs) > 0 {
			t.Errorf("%s: campaigned all the same", path)
		}
	}
	if b, err := os.ReadFile(plain); err != nil || string(b) != text {
		t.Errorf("the file has %q now, %v", b, err)
	}
}

func TestAFullFifoHoldsNothingUp(t *testing.T) {
	f, err := openFifo(makeFifo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	full := strings.Repeat("x", 4095) + "\n"
	for err == nil {
		err = f.write(full)
	}
	if !strings.Contains(err.Error(), "the pipe is full: nobody reads it") {
		t.Fatal(err)
	}
	s := play(t, newFake(1), `exit 0`, func(o *Options) { o.Hooks.Fifo = f.path })
	s.end(0)
	if !strings.Contains(s.said(), "did not get the state MASTER: the pipe is full") {
		t.Errorf("log:\n%s", s.said())
	}
}

// A runner that was held up does not write that it leads after its deadline. That it does not lead is always written.
func TestFifoGetsNoMasterAfterTheDeadline(t *testing.T) {
	path := makeFifo(t)
	h := &Hooks{Fifo: path, Log: t.Logf}
	if err := h.open(nil); err != nil {
		t.Fatal(err)
	}
	defer h.close()
	in, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	held, notice := context.WithCancel(t.Context())
	ended, end := context.WithCancel(t.Context())
	end()
	lines := bufio.NewReader(in)
	for _, c := range []struct {
		name string
		ctx  context.Context
		look func()
	}{{"held up", held, notice}, {"lost", ended, func() {}}} {
		h.within(nil, c.look).notify(c.ctx, nil, "g", hookMaster)
		h.notify(c.ctx, nil, "g", hookFault)
		if got, err := lines.ReadString('\n'); err != nil || got != "GROUP \"g\" FAULT 100\n" {
			t.Errorf("%s: read %q, %v", c.name, got, err)
		}
	}
	h.within(nil, func() {}).notify(t.Context(), nil, "g", hookMaster)
	if got, err := lines.ReadString('\n'); err != nil || got != "GROUP \"g\" MASTER 100\n" {
		t.Errorf("leads: read %q, %v", got, err)
	}
}

// Whoever reads may make the pipe anew, or something else of that name.
func TestAFifoThatIsMadeAnewIsFound(t *testing.T) {
	path := makeFifo(t)
	f, err := openFifo(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	remove := func() {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	remove()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	mustRead := func(text string) {
		t.Helper()
		in, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if err := in.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if err := f.write(text); err != nil {
			t.Fatal(err)
		}
		if got, err := bufio.NewReader(in).ReadString('\n'); got != text || err != nil {
			t.Errorf("read %q, %v, want %q", got, err, text)
		}
	}
	mustRead("anew\n")
	remove()
	if err := f.write("nobody reads this\n"); err != nil {
		t.Errorf("removed: %v, want it to be made again", err)
	}
	remove()
	if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := f.write("lost\n"); err == nil || !strings.Contains(err.Error(), "is not a named pipe") {
		t.Errorf("written to a file: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "text" {
		t.Errorf("the file has %q now, %v", b, err)
	}
}
