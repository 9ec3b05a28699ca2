package processes

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/tenure"
)

// The agent deletes no addresses that the runner could not delete, and none of another network.
func TestAddressesAreTakenOverOnlyFromRunnersThatCouldDeleteThem(t *testing.T) {
	if os.Geteuid() != 0 {
		return // no runner could
	}
	for _, c := range []struct {
		command []string
		addr    string
		want    string // empty: taken over
	}{
		{[]string{"setpriv", "--", "cat"}, "10.0.0.9/24@eth0", ""},
		{[]string{"setpriv", "--", "cat"}, "10.0.0.9", "no interface"},
		{[]string{"setpriv", "--bounding-set=-net_admin", "--", "cat"}, "10.0.0.9/24@eth0", "lacks CAP_NET_ADMIN"},
		{[]string{"unshare", "--net", "--", "cat"}, "10.0.0.9/24@eth0", "another net namespace"},
		{[]string{"unshare", "--user", "--map-root-user", "--", "cat"}, "10.0.0.9/24@eth0", "another user namespace"},
	} {
		p := exec.Command(c.command[0], c.command[1:]...)
		in, err := p.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		cluster.Eventually(t, "the runner runs", func() bool {
			b, _ := os.ReadFile("/proc/" + strconv.Itoa(p.Process.Pid) + "/comm")
			return strings.TrimSpace(string(b)) == "cat"
		})
		err = mayHold(tenure.Identity{Pid: p.Process.Pid}, []string{c.addr})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, %s: %v, want %q", c.command, c.addr, err, c.want)
		}
		_, _ = in.Close(), p.Wait()
	}
}
