package conformance

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/regentproject/regent/agent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/session"
)

// partVar tells a child of the test what it is.
const partVar = "REGENT_CONFORMANCE_PART"

func TestMain(m *testing.M) {
	switch os.Getenv(partVar) {
	case "agent": // agent --config FILE
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		exit(agent.Run(ctx, agent.Options{Config: os.Args[3]}))
	case "harness":
		exit(serveGo(os.Args[1]))
	}
	cluster.Main()
	os.Exit(m.Run())
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// part makes a command that runs this test as something else.
func part(what string, args ...string) *exec.Cmd {
	c := cluster.Self(args...)()
	c.Env = append(os.Environ(), partVar+"="+what)
	return c
}

// A kind is a client to test, over one of its transports.
type kind struct {
	name string
	// program and args start its harness; without a program it is that of Go.
	program string
	args    []string
	// http says that it speaks HTTP, and counts that it counts its deadline from questions.
	http, counts bool
	// campaignsOnly says that its harness has neither other modes nor transfers.
	campaignsOnly bool
}

func kinds() []kind {
	python, js := "clients/python/conformance/harness.py", "clients/javascript/conformance/harness.js"
	return []kind{
		{name: "go"},
		{name: "python", program: "python3", args: []string{python, "socket"}},
		{name: "python-ask", program: "python3", args: []string{python, "ask"}, counts: true},
		{name: "python-aio", program: "python3", args: []string{python, "aio"}, campaignsOnly: true},
		{name: "python-http", program: "python3", args: []string{python, "http"}, http: true, counts: true},
		{name: "javascript", program: "node", args: []string{js, "socket"}, counts: true},
		{name: "javascript-http", program: "node", args: []string{js, "http"}, http: true, counts: true},
	}
}

// A bench is three agents and what the tests do with them.
type bench struct {
	*cluster.Cluster
	t    *testing.T
	root string
}

// start starts agents whose programs have leases of three seconds: longer than the pauses of a busy host.
func start(t *testing.T, config string, names ...string) *bench {
	t.Helper()
	c := cluster.OpenCrash(t, cluster.Options{Names: names, SocketMode: "0666", Config: config + "timing: {lease: 3s}\nrealtime: false\n",
		Regent: func(args ...string) *exec.Cmd { return part("agent", args...) }})
	b := &bench{Cluster: c, t: t, root: tree(t)}
	for _, name := range c.Names {
		_, err := c.StartAgent(name)
		b.must(err)
	}
	b.must(c.AwaitAgents(c.Names...))
	return b
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// A client is a harness that runs.
type client struct {
	kind
	b       *bench
	process string
	delay   *delay // nil: the client is connected to the agent itself

	mu    sync.Mutex
	lines []string
}

// start starts the harness of a client, which speaks with agent a. Connections to the agent are opened by dial.
func (b *bench) start(k kind, name string, dial func(network, address string) (net.Conn, error)) *client {
	b.t.Helper()
	c := &client{kind: k, b: b, process: name}
	network, listen, agent := "unix", filepath.Join(b.Dir, name+".between"), b.Socket("a")
	if k.http {
		address, err := b.HTTP("a")
		b.must(err)
		network, listen, agent = "tcp", "127.0.0.1:0", address
	}
	address := agent
	if k.program != "" || dial != nil { // Go reads its deadlines in memory that a relay cannot hand on
		if dial == nil {
			dial = net.Dial
		}
		c.delay = between(b.t, network, listen, func() (net.Conn, error) { return dial(network, agent) })
		address = c.delay.address
	}
	if k.http {
		address = "http://" + address
	}
	cmd := part("harness", address)
	if k.program != "" {
		cmd = exec.Command(k.program, filepath.Join(b.root, k.args[0]), k.args[1], address)
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	}
	_, err := b.Spawn(name, "a", cmd, func(line string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lines = append(c.lines, line)
	})
	if err != nil {
		b.t.Fatalf("%s: %v: run 'make deps'", name, err)
	}
	return c
}

// send gives the harness a command.
func (c *client) send(words ...string) {
	c.b.t.Helper()
	if err := c.b.Say(c.process, strings.Join(words, " ")); err != nil {
		c.b.t.Fatalf("%s: %v: %v\n%s", c.process, words, err, c.b.Process(c.process).Log())
	}
}

// next returns what follows the first word in the next line that begins with it, and takes the line.
func (c *client) next(word string) (rest []string) {
	c.b.t.Helper()
	cluster.Eventually(c.b.t, c.process+" says "+word, func() bool {
		line, ok := c.take(word)
		rest = strings.Fields(line)
		return ok
	})
	return rest[1:]
}

// nextOf takes the next line that begins with one of some words, and returns the word.
func (c *client) nextOf(words ...string) (found string) {
	c.b.t.Helper()
	cluster.Eventually(c.b.t, fmt.Sprintf("%s says one of %v", c.process, words), func() bool {
		for _, word := range words {
			if _, ok := c.take(word); ok {
				found = word
				return true
			}
		}
		return false
	})
	return found
}

// take takes a line. An error that no command asked for fails the test.
func (c *client) take(word string) (line string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, line := range c.lines {
		first, _, _ := strings.Cut(line, " ")
		if first == word {
			c.lines = append(c.lines[:i:i], c.lines[i+1:]...)
			return line, true
		}
	}
	if len(c.lines) > 0 && strings.HasPrefix(c.lines[0], "error") && word != "error" {
		c.b.t.Errorf("%s: %s, instead of %s", c.process, c.lines[0], word)
		c.lines = c.lines[1:]
	}
	return "", false
}

// ask gives a command and returns the answer.
func (c *client) ask(answer string, words ...string) []string {
	c.b.t.Helper()
	c.send(words...)
	return c.next(answer)
}

// lead has the client lead a group, and returns its token.
func (c *client) lead(group, mode, value string) uint64 {
	c.b.t.Helper()
	return c.leads(c.ask("leads", "lead", group, mode, value))
}

func (c *client) leads(words []string) uint64 {
	c.b.t.Helper()
	token, err := strconv.ParseUint(words[0], 10, 64)
	if err != nil || len(words) != 2 || words[1] != "a" {
		c.b.t.Errorf("%s leads: %v", c.process, words)
	}
	return token
}

// isValid returns whether the client takes its leadership for valid.
func (c *client) isValid() bool {
	c.b.t.Helper()
	return c.ask("valid", "valid")[0] == "true"
}

// becomesValid waits until the client takes its leadership for valid. One that counts from questions does so a moment after a busy host has held it up.
func (c *client) becomesValid() {
	c.b.t.Helper()
	cluster.Eventually(c.b.t, c.process+" leads, and is valid", c.isValid)
}

// dial connects to an agent by the client in Go.
func (b *bench) dial(name string) *session.Conn {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), cluster.Patience)
	defer cancel()
	c, err := session.Dial(ctx, b.Socket(name))
	b.must(err)
	b.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (b *bench) patience() context.Context {
	ctx, cancel := context.WithTimeout(b.t.Context(), cluster.Patience)
	b.t.Cleanup(cancel)
	return ctx
}
