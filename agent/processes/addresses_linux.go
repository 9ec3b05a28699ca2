package processes

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/regentproject/regent/agent/run/address"
	"github.com/regentproject/regent/agent/run/tree"
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
	may, err := tree.HasCapability(runner.Pid, unix.CAP_NET_ADMIN)
	if err == nil && !may {
		err = fmt.Errorf("addresses: runner %d lacks CAP_NET_ADMIN: run it as root, or as a service with AmbientCapabilities=CAP_NET_ADMIN CAP_NET_RAW", runner.Pid)
	}
	return err
}
