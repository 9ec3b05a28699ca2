package tree

import (
	"context"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/agent/run/address"
)

// inNamespace calls a test on a thread with a network of its own.
func inNamespace(t *testing.T, test func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		return // there is no network to change
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Error(err)
			return
		}
		test()
	}()
	<-done
}

// addAddress adds an address without a program of its own, which the reaper would take for adopted.
func addAddress(t *testing.T, text string) {
	t.Helper()
	a, err := address.Parse(text)
	if err == nil {
		err = a.Set(time.Hour)
	}
	if err != nil {
		t.Errorf("%s: %v", text, err)
	}
}

func addresses(t *testing.T) int {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Error(err)
	}
	return len(all)
}

// The process that ends a tree deletes its addresses: the runner at a glance, and an agent that only has a [Ref] of the tree after a walk.
func TestTheEndOfATreeDeletesItsAddresses(t *testing.T) {
	inNamespace(t, func() {
		n, err := ProcessReaper()
		if err != nil {
			t.Error(err)
			return
		}
		for name, end := range map[string]func(*Tree) Result{
			"runner": func(p *Tree) Result { return p.End(t.Context()) },
			"agent":  func(p *Tree) Result { r := p.Ref(); return r.End(t.Context()) },
		} {
			p, _, err := n.Prepare()
			if err != nil {
				t.Error(err)
				return
			}
			p.Hold([]string{"10.9.9.9/24@lo", "fd09::9/64@lo"})
			addAddress(t, "10.9.9.9/24@lo")
			addAddress(t, "fd09::9/64@lo")
			if found := end(p); !found.Gone() || addresses(t) != 0 {
				t.Errorf("%s: %v, and %d addresses are left", name, found.String(), addresses(t))
			}
			p.Forget()
		}
	})
}

func TestAnAddressThatIsLeftVoidsTheProof(t *testing.T) {
	n, err := ProcessReaper()
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := n.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Forget()
	p.Hold([]string{"nobody can delete this"})
	for name, end := range map[string]func(context.Context) Result{
		"runner": p.End,
		"agent":  func(ctx context.Context) Result { r := p.Ref(); return r.End(ctx) },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		found := end(ctx)
		cancel()
		if kind, ok := found.Verdict(); ok {
			t.Errorf("%s: %v, want no verdict as long as the host may have the address", name, kind)
		}
	}
}
