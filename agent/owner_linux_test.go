package agent

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/config"
)

// startFails starts an agent that must refuse to.
func startFails(t *testing.T, r *testAgent) error {
	t.Helper()
	file, err := config.Load(r.config)
	if err != nil {
		return err
	}
	a, err := newAgent(file, Options{Config: r.config, Log: io.Discard})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return a.run(ctx)
}

// An agent of root trusts no path that another user controls.
func TestAgentRefusesPathsOfOtherUsers(t *testing.T) {
	give := func(t *testing.T, path string) {
		t.Helper()
		if err := os.Lchown(path, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	for name, prepare := range map[string]func(t *testing.T, r *testAgent, dir string){
		"the record's directory": func(t *testing.T, _ *testAgent, dir string) {
			if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
				t.Fatal(err)
			}
			give(t, filepath.Join(dir, "d"))
		},
		"a link to the record's directory": func(t *testing.T, _ *testAgent, dir string) {
			if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("real", filepath.Join(dir, "d")); err != nil {
				t.Fatal(err)
			}
			give(t, filepath.Join(dir, "d"))
		},
		"the socket's directory": func(t *testing.T, r *testAgent, dir string) {
			give(t, dir)
		},
		"a socket of another user": func(t *testing.T, r *testAgent, dir string) {
			if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
				t.Fatal(err)
			}
			as(t, nobody, nobody, func() {
				l, err := net.ListenUnix("unix", &net.UnixAddr{Name: r.socket, Net: "unix"})
				if err != nil {
					t.Error(err)
					return
				}
				l.SetUnlinkOnClose(false)
				_ = l.Close()
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := alone(t, "{}")
			prepare(t, r, filepath.Dir(r.socket))
			if err := startFails(t, r); err == nil || !strings.Contains(err.Error(), "belongs to user 65534") {
				t.Errorf("the agent uses it: %v", err)
			}
		})
	}
	t.Run("the key", func(t *testing.T) {
		r := alone(t, "{}")
		key := filepath.Join(filepath.Dir(r.socket), "key")
		if err := config.WriteKey(key); err != nil {
			t.Fatal(err)
		}
		replace(t, r.config, "bootstrap:", "key_file: "+key+"\nbootstrap:")
		give(t, key)
		if err := startFails(t, r); err == nil || !strings.Contains(err.Error(), "belongs to user 65534") {
			t.Errorf("the agent uses it: %v", err)
		}
	})
	t.Run("a link in the record's place", func(t *testing.T) {
		r := alone(t, "{}")
		dir := filepath.Join(filepath.Dir(r.socket), "d")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(filepath.Dir(r.socket), "precious")
		if err := os.WriteFile(target, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(dir, "lock")); err != nil {
			t.Fatal(err)
		}
		if err := startFails(t, r); err == nil || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("the agent follows it: %v", err)
		}
		if b, _ := os.ReadFile(target); string(b) != "precious" {
			t.Errorf("the file that it leads to was changed: %q", b)
		}
	})
}
