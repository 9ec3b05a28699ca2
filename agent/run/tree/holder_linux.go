package tree

import (
	"fmt"
	"os"
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
	own, err := os.Readlink("/proc/thread-self/ns/net")
	if err != nil {
		return false
	}
	var holders []tenure.Identity
	for _, pid := range pids {
		s, err := readStat(pid)
		if err == nil && !s.dead && s.started > r.First.Started && holds(pid, a, own) && alive(s.identity()) {
			holders = append(holders, s.identity())
		}
	}
	return r.Ref.Succeeded(holders)
}

// holds says that a process calls itself a holder of an address, may change addresses, and is in a network. Whoever may do that can take the address anyway.
func holds(pid int, a address.Address, network string) bool {
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
	its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil || !named || its != network {
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
