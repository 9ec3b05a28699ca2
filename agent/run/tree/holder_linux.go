package tree

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/agent/run/address"
	"github.com/regentproject/regent/internal/tenure"
)

// Succeeded says that a process of a later leadership on this host holds an address of the tree: see [tenure.Ref.Succeeded].
func (r *Ref) Succeeded(a address.Address) bool {
	pids, err := pidsNow()
	if err != nil || r.First.Pid == 0 {
		return false
	}
	own, ok := namespaces("thread-self")
	if !ok {
		return false
	}
	runtime.LockOSThread() // for threadTime
	defer runtime.UnlockOSThread()
	w := &walk{}
	w.begin()
	var holders []tenure.Identity
	for _, pid := range pids {
		w.yield()
		s, err := readStat(pid)
		if err == nil && !s.dead && s.started > r.First.Started && holds(pid, a, own) && alive(s.identity()) {
			holders = append(holders, s.identity())
		}
	}
	return r.Ref.Succeeded(holders)
}

// places are namespaces in which an address means the same, and a capability too: any user has all capabilities in a user namespace of its own.
type places struct{ net, user string }

// namespaces returns those of a process, as /proc names it.
func namespaces(process string) (in places, ok bool) {
	var errs [2]error
	in.net, errs[0] = os.Readlink("/proc/" + process + "/ns/net")
	in.user, errs[1] = os.Readlink("/proc/" + process + "/ns/user")
	return in, errs[0] == nil && errs[1] == nil
}

// holds says that a process calls itself a holder of an address, and may change addresses here. A process that may do that can take the address anyway.
func holds(pid int, a address.Address, here places) bool {
	b, err := readProc(pid, "cmdline")
	if err != nil {
		return false
	}
	words := strings.Split(string(b), "\x00")
	if words[0] != address.ProcessName {
		return false
	}
	named := false
	for _, word := range words[1:] {
		other, err := address.Parse(word)
		named = named || err == nil && other.Prefix.Addr() == a.Prefix.Addr()
	}
	if its, ok := namespaces(strconv.Itoa(pid)); !ok || !named || its != here {
		return false
	}
	may, err := HasCapability(pid, unix.CAP_NET_ADMIN)
	return err == nil && may
}

// Successors returns what tells which addresses of this very process are those of a later leadership on this host.
func Successors() func(address.Address) bool {
	self, err := readStat(os.Getpid())
	r := Ref{}
	if err == nil {
		r.First = self.identity()
	}
	return r.Succeeded
}

// HasCapability says whether a process has a capability in effect.
func HasCapability(pid, capability int) (bool, error) {
	b, err := readProc(pid, "status")
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(line, "CapEff:"); ok {
			bits, err := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
			return bits&(1<<capability) != 0, err
		}
	}
	return false, fmt.Errorf("process %d: its capabilities are not known", pid)
}
