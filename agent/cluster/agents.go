package cluster

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// Socket returns where the agent of a host listens for programs.
func (c *Cluster) Socket(name string) string { return filepath.Join(c.Dir, name+".sock") }

// ConfigFile returns where the configuration of an agent is.
func (c *Cluster) ConfigFile(name string) string { return filepath.Join(c.Dir, name+".yaml") }

// HTTP returns the address of an agent's HTTP interface, which Client reaches.
func (c *Cluster) HTTP(name string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if addr := c.http[name]; addr != "" {
		return addr, nil
	}
	if c.hosts == nil {
		return "", fmt.Errorf("%s: hosts in memory run no agents", name)
	}
	addr, err := c.hosts.free(name)
	c.http[name] = addr
	return addr, err
}

// Client returns a client that sends its requests from a host.
func (c *Cluster) Client(name string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		return c.hosts.dial(ctx, name, network, addr)
	}}}
}

// CouncilID is that of the councils of tests. Options.Config may name another; with an empty one the agents agree on one.
const CouncilID = "c0ffee00c0ffee00c0ffee00c0ffee00"

// WriteConfig writes the configuration of an agent: its part of the council, and Options.Config. The timing of the options is not
// written: Config has it as an operator writes it.
func (c *Cluster) WriteConfig(name string) error {
	council, err := c.Council()
	if err != nil {
		return err
	}
	addr, err := c.HTTP(name)
	if err != nil {
		return err
	}
	var b strings.Builder
	more := c.Config
	if !strings.Contains(more, "council_id:") {
		more += "council_id: " + CouncilID + "\n"
	}
	if key := c.key(); key != nil {
		file := filepath.Join(c.Dir, "key")
		// Another agent may read it now: it is never there by half.
		draft := filepath.Join(c.Dir, "key."+name)
		if err := errors.Join(os.WriteFile(draft, []byte(base64.StdEncoding.EncodeToString(key)+"\n"), 0o600), os.Rename(draft, file)); err != nil {
			return err
		}
		more += "key_file: " + file + "\n"
	}
	socket := c.Socket(name)
	if c.SocketMode != "" {
		socket += fmt.Sprintf(", mode: %q", c.SocketMode)
	}
	list := "bootstrap: true\ncouncil:"
	if c.joins(name) {
		list = "join:"
	}
	fmt.Fprintf(&b, "name: %s\ndir: %s\nbind: %q\nsocket: {path: %s}\nhttp: {listen: %q, anonymous: write}\n%s%s\n",
		name, filepath.Join(c.Dir, name), c.Bind(name), socket, addr, more, list)
	for _, p := range council {
		fmt.Fprintf(&b, "  - {name: %s, address: %q, public_keys: [%q]}\n", p.Name, p.Addrs[0], c.public[p.Name][0])
	}
	if err := c.WriteKeys(name); err != nil {
		return err
	}
	return os.WriteFile(c.ConfigFile(name), []byte(b.String()), 0o600)
}

// WriteKeys writes the member's own key to where its agent looks for it, and beside it the public keys of all, where a program that uses the
// library does.
func (c *Cluster) WriteKeys(name string) error {
	dir := filepath.Join(c.Dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, peer := range c.Names {
		if err := os.WriteFile(filepath.Join(dir, peer+".pub"), []byte("public "+peer+" "+c.public[peer][0]+"\n"), 0o600); err != nil {
			return err
		}
	}
	own := c.own[name]
	return os.WriteFile(filepath.Join(dir, "private.key"), []byte("private "+own.PrivateKeys[0]+"\ntag "+own.TagKey+"\n"), 0o600)
}

// StartAgent starts the agent of a host: regent agent. It writes the configuration unless there is one.
func (c *Cluster) StartAgent(name string) (*Process, error) {
	if _, err := os.Stat(c.ConfigFile(name)); err != nil {
		if err := c.WriteConfig(name); err != nil {
			return nil, err
		}
	}
	return c.Spawn(name, name, c.Regent("agent", "--config", c.ConfigFile(name)), nil)
}

// hasJoined is what an agent logs when its member has joined the council. One that crashed does not vote yet.
const hasJoined = "the member has joined the council"

// AwaitAgents waits until agents take part.
func (c *Cluster) AwaitAgents(names ...string) error {
	for _, name := range names {
		p := c.Process(name)
		if p == nil {
			return fmt.Errorf("agent %s was not started", name)
		}
		err := Wait(Patience, "agent "+name+" takes part", func() bool { return p.Ended() || strings.Contains(p.Log(), hasJoined) })
		if err != nil || p.Ended() {
			return fmt.Errorf("agent %s does not take part: %w\n%s", name, err, p.Log())
		}
	}
	return nil
}

// Run starts a runner on a host: regent run GROUP FLAG ... -- COMMAND ... The flags need not name the socket.
func (c *Cluster) Run(name, host, group string, flags []string, command ...string) (*Process, error) {
	args := append([]string{"run", group, "--socket", c.Socket(host)}, flags...)
	return c.Spawn(name, host, c.Regent(append(append(args, "--"), command...)...), nil)
}
