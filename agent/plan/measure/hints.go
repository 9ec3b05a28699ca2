package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// hints reads what the kernel below root says about how its processors sleep.
func hints(root string) []string {
	read := func(path string) string {
		b, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	}
	const poll = "sys/module/haltpoll/parameters/guest_halt_poll_ns"
	governor, ns := read("sys/devices/system/cpu/cpuidle/current_governor"), read(poll)
	guest := strings.Contains(read("proc/cpuinfo"), "hypervisor")
	switch {
	case ns != "" && governor == "haltpoll":
		return []string{fmt.Sprintf("this guest polls for up to %s ns before it halts: raise /%s if its host wakes it late", ns, poll)}
	case guest:
		return []string{"this guest halts at once when it is idle: load cpuidle_haltpoll in it, or boot it with idle=poll, if its host wakes it late"}
	}
	return nil
}
