package loopback

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"testing"
)

func TestAddressesAreFreeAndGivenOnce(t *testing.T) {
	seen := make(map[string]bool)
	for range 300 {
		addr, err := Free()
		if err != nil {
			t.Fatal(err)
		}
		if seen[addr] {
			t.Errorf("%s was given twice", addr)
		}
		seen[addr] = true
		a, err := netip.ParseAddrPort(addr)
		if err != nil || !a.Addr().IsLoopback() || a.Port() < first || a.Port() >= last {
			t.Errorf("%s: %v", addr, err)
		}
		c, err := net.ListenPacket("udp4", addr)
		if err != nil {
			t.Error(err)
			continue
		}
		defer c.Close()
	}
}

// TestProcessesShareNoPort starts processes that ask for addresses at the same time and release none.
func TestProcessesShareNoPort(t *testing.T) {
	// So many that two processes that drew ports without regard to each other would draw the same one.
	const processes, addresses = 5, 15 * block
	const mine = "REGENT_TEST_LOOPBACK"
	if os.Getenv(mine) != "" {
		for range addresses {
			addr, err := Free()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Println("given", addr)
		}
		io.Copy(io.Discard, os.Stdin)
		return
	}
	owner := make(map[string]int)
	for i := range processes {
		c := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
		c.Env = append(os.Environ(), mine+"=1")
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer c.Wait()
		defer in.Close()
		lines := bufio.NewScanner(out)
		for range addresses {
			if !lines.Scan() {
				t.Fatalf("process %d gave fewer than %d addresses", i, addresses)
			}
			addr := lines.Text()
			if other, taken := owner[addr]; taken {
				t.Errorf("%s by processes %d and %d", addr, other, i)
			}
			owner[addr] = i
		}
	}
}

func TestWhatIsTakenIsNotFree(t *testing.T) {
	for _, network := range []string{"udp4", "tcp4"} {
		addr, err := Free()
		if err != nil {
			t.Fatal(err)
		}
		if err := free(addr); err != nil {
			t.Fatalf("before it is taken: %v", err)
		}
		if network == "udp4" {
			c, err := net.ListenPacket(network, addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
		} else {
			l, err := net.Listen(network, addr)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
		}
		if free(addr) == nil {
			t.Errorf("%s is taken by %s and said to be free", addr, network)
		}
	}
}
