package agent

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/runtime/parent"
	"github.com/regentproject/regent/internal/transport/relay"
	"golang.org/x/sys/unix"
)

// The test program is also the agents and the programs that lead through them, as processes of their own.
func TestMain(m *testing.M) {
	switch os.Getenv("REGENT_TEST_PART") {
	case "agent":
		if os.Getenv("REGENT_TEST_FILE_LIMIT") != "" { // like a full disk
			if err := unix.Setrlimit(unix.RLIMIT_FSIZE, new(unix.Rlimit)); err != nil {
				panic(err)
			}
		}
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := Run(ctx, Options{Config: os.Getenv("REGENT_TEST_CONFIG")}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "echo":
		echo()
	case "program":
		var o task
		if err := json.Unmarshal([]byte(os.Getenv("REGENT_TEST_TASK")), &o); err != nil {
			panic(err)
		}
		o.run()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// echo sends packets back until it is killed.
func echo() {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	b, _ := json.Marshal(word{What: "echoes", Text: c.LocalAddr().String()})
	_, _ = os.Stdout.Write(append(b, '\n'))
	p := make([]byte, 64)
	for {
		n, from, err := c.ReadFrom(p)
		if err != nil {
			panic(err)
		}
		_, _ = c.WriteTo(p[:n], from)
	}
}

// reign is one leadership as its program wrote it down: it was told yes between the end of the first answer and the
// start of the last.
type reign struct {
	program      string
	token        uint64
	since, until int64
}

// village is a council of agent processes with programs, through a relay.
type village struct {
	t        testing.TB
	dir      string
	names    []string
	relay    *relay.Relay
	agents   map[string]*process
	programs map[string]*process
	http     map[string]string
	more     string
}

// process is one of them.
type process struct {
	cmd   *exec.Cmd
	words chan word
	gone  chan struct{}
	errs  *logs
	task  task
}

// newVillage starts agents with a relay between them. more is put into every configuration.
func newVillage(t testing.TB, n int, more string) *village {
	t.Helper()
	return foundVillage(t, n, calm(more), true)
}

// foundVillage starts agents, with or without a relay between them.
func foundVillage(t testing.TB, n int, more string, relayed bool) *village {
	t.Helper()
	v := &village{t: t, dir: shortDir(t), agents: make(map[string]*process), programs: make(map[string]*process),
		http: make(map[string]string), more: more}
	var ends []relay.Member
	for i := range n {
		name := string(rune('a' + i))
		v.names = append(v.names, name)
		ends = append(ends, relay.Member{Name: name, Addr: netip.MustParseAddrPort(port(t))})
		v.http[name] = port(t)
	}
	var err error
	if v.relay, err = relay.Start(relay.Config{Members: ends}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.close)
	for i, name := range v.names {
		text := fmt.Sprintf("name: %s\ndir: %s\nbootstrap: true\nbind: %q\nsocket: {path: %s}\nhttp: {listen: %q, anonymous: write}\n%scouncil:\n",
			name, filepath.Join(v.dir, name), ends[i].Addr, v.socket(name), v.http[name], more)
		for j, peer := range v.names {
			addr := ends[j].Addr
			if i != j && relayed {
				if addr, err = v.relay.Addr(name, peer); err != nil {
					t.Fatal(err)
				}
			}
			text += fmt.Sprintf("  - {name: %s, address: %q}\n", peer, addr)
		}
		if err := os.WriteFile(v.config(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		v.startAgent(name)
	}
	for _, name := range v.names {
		v.awaitAgent(name)
	}
	return v
}

func (v *village) socket(name string) string { return filepath.Join(v.dir, name+".sock") }
func (v *village) config(name string) string { return filepath.Join(v.dir, name+".yaml") }

// startAgent starts an agent process.
func (v *village) startAgent(name string) {
	v.t.Helper()
	v.agents[name] = v.spawn("agent", "REGENT_TEST_CONFIG="+v.config(name), task{})
}

// awaitAgent waits until an agent takes part.
func (v *village) awaitAgent(name string) {
	v.t.Helper()
	p := v.agents[name]
	deadline := time.Now().Add(20 * time.Second)
	for !strings.Contains(p.errs.String(), "the member takes part") {
		if time.Now().After(deadline) || p.ended() {
			v.t.Fatalf("agent %s does not take part:\n%s", name, p.errs)
		}
		time.Sleep(5 * time.Millisecond) // wall clock: a process of its own
	}
}

// startProgram starts a program that campaigns at an agent.
func (v *village) startProgram(name, agent string, o task) *process {
	v.t.Helper()
	o.Socket, o.Name, o.Diary = v.socket(agent), name, filepath.Join(v.dir, name+".diary")
	if o.Group == "" {
		o.Group = "g"
	}
	b, err := json.Marshal(o)
	if err != nil {
		v.t.Fatal(err)
	}
	v.programs[name] = v.spawn("program", "REGENT_TEST_TASK="+string(b), o)
	return v.programs[name]
}

func (v *village) spawn(part, more string, o task) *process {
	v.t.Helper()
	self, err := os.Executable()
	if err != nil {
		v.t.Fatal(err)
	}
	p := &process{cmd: exec.Command(self), words: make(chan word, 1<<12), gone: make(chan struct{}), errs: new(logs), task: o}
	p.cmd.Env = append(os.Environ(), "REGENT_TEST_PART="+part, more)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.Stderr = p.errs
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	if err := parent.Start(p.cmd); err != nil {
		v.t.Fatal(err)
	}
	go func() {
		p.listen(out)
		_ = p.cmd.Wait()
		close(p.gone)
	}()
	return p
}

func (p *process) listen(out io.Reader) {
	in := bufio.NewScanner(out)
	for in.Scan() {
		var w word
		if json.Unmarshal(in.Bytes(), &w) == nil {
			p.words <- w
		}
	}
}

func (p *process) ended() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// signal sends a signal; kill waits until the process is gone.
func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.gone
}

// await waits until a program says a word.
func (v *village) await(p *process, what string) word {
	v.t.Helper()
	w, ok := p.hears(what, 20*time.Second)
	if !ok {
		v.t.Fatalf("%s never said %q; agents: %s", p.task.Name, what, v.logs())
	}
	return w
}

func (p *process) hears(what string, within time.Duration) (word, bool) {
	limit := time.After(within)
	for {
		select {
		case w := <-p.words:
			if w.What == what {
				return w, true
			}
		case <-limit:
			return word{}, false
		}
	}
}

// first waits until one of several programs leads.
func (v *village) first(programs ...*process) (*process, word) {
	v.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		for _, p := range programs {
			select {
			case w := <-p.words:
				if w.What == "leads" {
					return p, w
				}
			default:
			}
		}
		time.Sleep(100 * time.Microsecond) // wall clock: processes of their own
	}
	v.t.Fatalf("nobody leads; agents: %s", v.logs())
	return nil, word{}
}

func (v *village) logs() string {
	var b strings.Builder
	for _, name := range v.names {
		fmt.Fprintf(&b, "\n--- %s\n%s", name, v.agents[name].errs)
	}
	return b.String()
}

// cut cuts an agent off from all others, or heals that.
func (v *village) cut(name, verb string) {
	v.t.Helper()
	for _, other := range v.names {
		if other == name {
			continue
		}
		for _, line := range []string{verb + " " + name + " " + other, verb + " " + other + " " + name} {
			if _, err := v.relay.Do(line); err != nil {
				v.t.Fatal(err)
			}
		}
	}
}

// judge looks for an instant at which two programs were told that they lead. It wants to see at least so many reigns.
func (v *village) judge(atLeast int) []reign {
	v.t.Helper()
	var all []reign
	for deadline := time.Now().Add(5 * time.Second); len(all) < atLeast && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond) // wall clock: who was just told writes it down in a moment
		all = nil
		for name := range v.programs {
			all = append(all, v.diary(name)...)
		}
	}
	slices.SortFunc(all, func(x, y reign) int { return int(x.since - y.since) })
	if len(all) < atLeast {
		v.t.Errorf("only %d reigns were written down, of at least %d: nothing can be judged", len(all), atLeast)
	}
	for i := 1; i < len(all); i++ {
		x, y := all[i-1], all[i]
		if y.since < x.until {
			v.t.Errorf("%s (token %d) and %s (token %d) were both told that they lead, for %v", x.program, x.token, y.program, y.token, time.Duration(x.until-y.since))
		}
		if y.token <= x.token {
			v.t.Errorf("%s led with token %d after %s with %d", y.program, y.token, x.program, x.token)
		}
	}
	return all
}

// diary reads what a program wrote down.
func (v *village) diary(name string) []reign {
	v.t.Helper()
	b, err := os.ReadFile(filepath.Join(v.dir, name+".diary"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		v.t.Fatal(err)
	}
	var all []reign
	for ; len(b) >= 24; b = b[24:] {
		token, before, after := binary.LittleEndian.Uint64(b), int64(binary.LittleEndian.Uint64(b[8:])), int64(binary.LittleEndian.Uint64(b[16:]))
		if n := len(all); n == 0 || all[n-1].token != token {
			all = append(all, reign{program: name, token: token, since: after, until: after})
		} else {
			all[n-1].until = max(all[n-1].until, before)
		}
	}
	return all
}

// close ends everything.
func (v *village) close() {
	var all sync.WaitGroup
	for _, set := range []map[string]*process{v.programs, v.agents} {
		for _, p := range set {
			all.Go(func() {
				p.signal(syscall.SIGCONT)
				p.kill()
			})
		}
		all.Wait()
	}
	_ = v.relay.Close()
}
