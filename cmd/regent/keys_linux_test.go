package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/secret"
)

// output runs a command of the command line and returns what it prints.
func (h *runCluster) output(args ...string) string {
	h.t.Helper()
	out, err := command(args...).Output()
	h.check(err)
	return string(out)
}

// list lists public keys at members, and reloads their agents.
func (h *runCluster) list(public string, names ...string) {
	h.t.Helper()
	file := filepath.Join(h.Dir, "passed.pub")
	h.check(os.WriteFile(file, []byte(public), 0o600))
	for _, name := range names {
		h.check(h.regent("keys", "exchange", "--restore", "--config", h.ConfigFile(name), file))
		h.reload(name)
	}
}

// reload makes an agent read its configuration again, and waits until it has.
func (h *runCluster) reload(name string) {
	h.t.Helper()
	const read = "the configuration was read again"
	p := h.Process(name)
	before := strings.Count(p.Log(), read)
	h.check(p.Signal(syscall.SIGHUP))
	cluster.Eventually(h.t, name+" reads its configuration again", func() bool { return strings.Count(p.Log(), read) > before })
}

// leader returns who leads, and with which token. A proof may come too late on a busy host.
func (h *runCluster) leader() (said string) {
	h.t.Helper()
	cluster.Eventually(h.t, "the leader proves its leadership", func() bool {
		out, err := command("verify", "g", "--socket", h.Socket("a")).Output()
		said, _, _ = strings.Cut(string(out), ",")
		return err == nil
	})
	return said
}

// The cluster key and a member's key are replaced by reloads, member by member, while programs lead: the leader stays the same, and so
// do the agents.
func TestKeysAreReplacedWithoutARestart(t *testing.T) {
	t.Parallel()
	h := startRunCluster(t)
	first, second := filepath.Join(h.Dir, "key"), filepath.Join(h.Dir, "key.new")
	h.check(h.regent("keygen", first), h.regent("keygen", second))
	write := func(name, lines string) {
		t.Helper()
		text, err := os.ReadFile(h.ConfigFile(name))
		h.check(err)
		before, _, _ := strings.Cut(string(text), "# keys\n")
		h.check(os.WriteFile(h.ConfigFile(name), []byte(before+"# keys\n"+lines), 0o600))
	}
	for _, name := range h.Names { // the first key cannot be introduced member by member
		write(name, "key_file: "+first+"\n")
		h.reload(name)
	}
	h.agree("with the first key")
	leader, pids := h.leader(), make(map[string]int)
	for _, name := range h.Names {
		pids[name] = h.Process(name).Pid()
	}
	same := func(when string) {
		t.Helper()
		h.agree(when)
		if now := h.leader(); now != leader {
			t.Errorf("%s: %s, want %s", when, now, leader)
		}
	}
	for _, step := range []string{"key_file: " + first + "\nold_key_files: [" + second + "]\n", "key_file: " + second + "\nold_key_files: [" + first + "]\n", "key_file: " + second + "\n"} {
		for _, name := range h.Names {
			write(name, step)
			h.reload(name)
			same("at " + name + " " + step)
		}
	}
	public := h.output("keys", "rotate", "--files", "--config", h.ConfigFile("b"))
	h.reload("b")
	same("with a second key at b")
	h.list(public, "c")
	same("with the second key of b at c")
	h.list(public, "a")
	same("with the second key of b everywhere")
	var last string
	cluster.Eventually(t, "all list the second key of b", func() bool {
		out, err := command("keys", "rotate", "--files", "--finish", "--config", h.ConfigFile("b"), "--socket", h.Socket("b")).Output()
		last = string(out)
		return err == nil
	})
	h.reload("b")
	same("without the first key at b")
	h.list(last, "a", "c")
	same("without the first key of b everywhere")
	for name, pid := range pids {
		if p := h.Process(name); p.Pid() != pid || p.Ended() {
			t.Errorf("agent %s was restarted", name)
		}
	}
	// The files are in force, and not only read: an agent that begins with them is heard by those that were reloaded.
	h.Finish(h.t, "c")
	h.startAgent("c")
	h.agree("with c started from its file")
	var shown []keysReport
	h.check(json.Unmarshal([]byte(h.output("keys", "show", "--json", "--config", h.ConfigFile("b"))), &shown))
	cluster.Eventually(t, "a hears b with its new key", func() bool {
		list := h.members("a")
		return len(list) == 3 && list[1].Key != "" && strings.HasPrefix(shown[1].Keys[0].Fingerprint, list[1].Key)
	})
	if log := h.Process("b").Log(); !strings.Contains(log, `msg=audit action="keys rotate"`) {
		t.Errorf("the audit log does not name who rotated the key:\n%s", log)
	}
	if log := h.Process("a").Log(); !strings.Contains(log, "of b") || !strings.Contains(log, `msg=audit action="keys exchange"`) || strings.Contains(log, "nothing has changed") {
		t.Errorf("the audit log does not name the keys that changed:\n%s", log)
	}
	h.judge()
}

// The key of each member is rotated by one command on its host, that of the leader too. The command is killed once it has drawn the new key, and goes on
// when it is called again. The leader stays the same, and so do the agents.
func TestKeyIsRotatedByOneCommand(t *testing.T) {
	t.Parallel()
	h := startRunCluster(t)
	h.agree("at first")
	leader, pids := h.leader(), make(map[string]int)
	for _, name := range h.Names {
		pids[name] = h.Process(name).Pid()
	}
	for _, name := range h.Names {
		private := filepath.Join(h.Dir, name, secret.PrivateName)
		before, err := secret.ReadPrivate(private)
		h.check(err)
		args := []string{"keys", "rotate", "--config", h.ConfigFile(name)}
		killed := command(args...)
		h.check(killed.Start())
		cluster.Eventually(t, name+" has another key", func() bool {
			now, err := secret.ReadPrivate(private)
			return err == nil && now.Private[len(now.Private)-1] != before.Private[0]
		})
		_ = killed.Process.Kill()
		ended := killed.Wait() == nil // before it was killed
		if now, err := secret.ReadPrivate(private); err == nil && len(now.Private) == 2 || !ended {
			if out, err := command(args...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
		}
		after, err := secret.ReadPrivate(private)
		h.check(err)
		if len(after.Private) != 1 || after.Private[0] == before.Private[0] || after.Tag != before.Tag {
			t.Errorf("%s has %d keys, the first of which is another one: %v", name, len(after.Private), after.Private[0] != before.Private[0])
		}
		h.agree("with another key of " + name)
		if now := h.leader(); now != leader {
			t.Errorf("with another key of %s: %s, want %s", name, now, leader)
		}
	}
	for name, pid := range pids {
		if p := h.Process(name); p.Pid() != pid || p.Ended() {
			t.Errorf("agent %s was restarted", name)
		}
		if log := h.Process(name).Log(); !strings.Contains(log, `msg=audit action="keys rotate"`) || !strings.Contains(log, name+" has only ") {
			t.Errorf("the audit log does not name who rotated the key of %s:\n%s", name, log)
		}
	}
	h.Finish(t, "c") // and starts from its files
	h.startAgent("c")
	h.agree("with c started again")
	h.judge()
}

// A member is revoked while its program leads. It keeps what it was promised, and nobody else leads before that has lapsed. Then it is
// heard by nobody and hears nobody, with the key that it still has; and its vote is missing, as if it were dead.
func TestRevokedLeaderIsCutOff(t *testing.T) {
	t.Parallel()
	h := startRunCluster(t)
	h.agree("at first")
	leader := h.next().Holder
	var others []string
	for _, name := range h.Names {
		if name != leader {
			others = append(others, name)
		}
	}
	for _, name := range others {
		h.check(h.regent("keys", "revoke", leader, "--config", h.ConfigFile(name)))
		h.reload(name)
	}
	cluster.Eventually(t, "another member leads", func() bool {
		out, err := command("verify", "g", "--socket", h.Socket(others[0])).Output()
		return err == nil && !strings.HasPrefix(string(out), leader)
	})
	cluster.Eventually(t, leader+" hears nobody", func() bool {
		for _, m := range h.members(leader) {
			if !m.Self && well(&m) {
				return false
			}
		}
		return true
	})
	for _, m := range h.members(others[0]) {
		if m.Revoked != (m.Name == leader) || m.Revoked && !strings.Contains(m.Problem, "is revoked here") {
			t.Errorf("%+v", m)
		}
	}
	// The audit log names who revoked it, and that somebody tried to revoke a member that does not exist.
	_ = h.regent("keys", "revoke", "nobody", "--config", h.ConfigFile(others[0]))
	cluster.Eventually(t, "the audit log names who revoked it", func() bool {
		log := h.Process(others[0]).Log()
		who := fmt.Sprintf(`who="uid %d" from="socket, pid `, os.Getuid())
		return strings.Contains(log, `msg=audit action="keys revoke" group="" to="" at="" `+who) && strings.Contains(log, "outcome=done detail="+leader) &&
			strings.Contains(log, `outcome=failed detail="nobody: member`)
	})
	var status api.AgentStatus
	cluster.Eventually(t, "its packets are counted as those of a revoked member", func() bool {
		out, _ := command("status", "--json", "--socket", h.Socket(others[0])).Output()
		return json.Unmarshal(out, &status) == nil && status.Dropped["revoked"] > 0
	})
	// Two of three are a quorum; one of three is none, although only two members have a key.
	h.Finish(h.t, runnerOf(others[1]))
	h.Finish(h.t, others[1])
	cluster.Eventually(t, "nobody leads without a quorum", func() bool { return h.regent("verify", "g", "--socket", h.Socket(others[0])) != nil })
	h.judge()
}
