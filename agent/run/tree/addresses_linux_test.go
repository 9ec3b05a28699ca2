package tree

import (
	"context"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/run/address"
	"github.com/regentproject/regent/internal/tenure"
)

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

// addresses counts those of the loopback interface, which is down and has none by itself.
func addresses(t *testing.T) int {
	t.Helper()
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Error(err)
		return 0
	}
	all, err := lo.Addrs()
	if err != nil {
		t.Error(err)
	}
	return len(all)
}

// The process that ends a tree deletes its addresses: the runner at a glance, and an agent that only has a [Ref] of the tree after a walk.
func TestTheEndOfATreeDeletesItsAddresses(t *testing.T) {
	cluster.Alone(t, func() {
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

// A search for a tree that is over comes late if its process was paused. By then another leadership of this host may have added the address again.
func TestALateSearchLeavesTheAddressOfALaterLeadership(t *testing.T) {
	cluster.Alone(t, func() {
		n, err := ProcessReaper()
		if err != nil {
			t.Error(err)
			return
		}
		p, _, err := n.Prepare()
		if err != nil {
			t.Error(err)
			return
		}
		defer p.Forget()
		p.Hold([]string{"10.9.9.9/24@lo"})
		addAddress(t, "10.9.9.9/24@lo")
		old := p.Ref()
		for name, c := range map[string]struct {
			holds string
			first tenure.Identity
			want  int
			user  uintptr
		}{
			"a later holder":           {"10.9.9.9/24@lo", tenure.Identity{Pid: old.Runner.Pid, Started: 1}, 1, 0},
			"with rights elsewhere":    {"10.9.9.9/24@lo", tenure.Identity{Pid: old.Runner.Pid, Started: 1}, 0, unix.CLONE_NEWUSER},
			"of another address":       {"10.9.9.8/24@lo", tenure.Identity{Pid: old.Runner.Pid, Started: 1}, 0, 0},
			"an earlier holder":        {"10.9.9.9/24@lo", tenure.Identity{Pid: old.Runner.Pid, Started: now() + 1<<20}, 0, 0},
			"a tree without a process": {"10.9.9.9/24@lo", tenure.Identity{}, 0, 0},
		} {
			addAddress(t, "10.9.9.9/24@lo")
			holder := &exec.Cmd{Path: "/bin/sh", Args: []string{address.ProcessName, "-c", "read x", c.holds}, Env: Helper(os.Environ()),
				SysProcAttr: &syscall.SysProcAttr{Cloneflags: c.user}}
			if c.user != 0 { // it is root there
				holder.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{Size: 1}}
			}
			in, err := holder.StdinPipe()
			if err == nil {
				err = holder.Start() // by this thread, in its network
			}
			if err != nil {
				t.Error(err)
				return
			}
			late := old
			late.First = c.first
			left, err := address.Drop(late.Addresses, late.Succeeded)
			if left != 0 || err != nil || addresses(t) != c.want {
				t.Errorf("%s: %d addresses are there, want %d; %d left, %v", name, addresses(t), c.want, left, err)
			}
			_ = in.Close()
			_ = holder.Wait()
		}
	})
}
