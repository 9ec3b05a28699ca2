package processes

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/agent/run/address"
	"github.com/regentproject/regent/internal/tenure"
)

// mayHold says why the agent does not take addresses over from a runner: it deletes none that the runner could not delete itself, and none in another
// network namespace than its own.
func mayHold(runner tenure.Identity, addresses []string) error {
	if _, err := address.ParseAll(addresses); err != nil {
		return err
	}
	for _, kind := range []string{"net", "user"} {
		own, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			return err
		}
		its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", runner.Pid, kind))
		if err != nil {
			return fmt.Errorf("addresses of runner %d: %w", runner.Pid, err)
		}
		if own != its {
			return fmt.Errorf("addresses: runner %d is in another %s namespace than the agent, which could not delete them: run both in the same", runner.Pid, kind)
		}
	}
	may, err := hasCapability(runner.Pid, unix.CAP_NET_ADMIN)
	if err == nil && !may {
		err = fmt.Errorf("addresses: runner %d lacks CAP_NET_ADMIN: run it as root, or as a service with AmbientCapabilities=CAP_NET_ADMIN CAP_NET_RAW", runner.Pid)
	}
	return err
}

// hasCapability says whether a process has a capability in effect.
func hasCapability(pid, capability int) (bool, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
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
