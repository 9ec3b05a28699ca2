package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/regentproject/regent/checkpoint/code"
	"github.com/regentproject/regent/checkpoint/core"
	"github.com/regentproject/regent/checkpoint/fractal"
)

// A twin is a machine and a vault in Python that do what those in Go do.
type twin struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
	// dir has the files of the vault.
	dir string
}

// A step is an event of a machine or a request to a vault, as checkpoint.py reads it.
type step struct {
	Do      string        `json:"do"`
	View    core.Number   `json:"view"`
	Members core.Set      `json:"members"`
	Manager int           `json:"manager"`
	Key     string        `json:"key"`
	Seq     uint64        `json:"seq"`
	State   []byte        `json:"state"`
	From    int           `json:"from"`
	Message *core.Message `json:"message"`
}

// An outcome is what came of a step, in Go or as checkpoint.py writes it.
type outcome struct {
	Reply              *core.Message
	Inherit            []inheritance
	Complete, Waiting  []core.Completion
	Send               []core.Envelope
	Recovered, Founded bool
	Damaged            []string
}

type inheritance struct {
	Key      string
	Begin    bool
	From     core.ID
	Seq      uint64
	Complete uint64
	State    []byte `json:",omitempty"`
}

func outcomeOf(e core.Effects) outcome {
	o := outcome{Complete: e.Complete, Waiting: e.Waiting, Send: e.Send, Recovered: e.Recovered, Founded: e.Founded}
	for _, i := range e.Inherit {
		o.Inherit = append(o.Inherit, inheritance(i))
	}
	return o
}

// text is an outcome without the difference between no list and an empty one.
func (o outcome) text() string {
	part := func(what string, v any) string {
		b, _ := json.Marshal(v)
		if s := string(b); s != "null" && s != "[]" {
			return what + " " + s + "\n"
		}
		return ""
	}
	s := part("reply", o.Reply) + part("inherit", o.Inherit) + part("complete", o.Complete) + part("waiting", o.Waiting) + part("damaged", o.Damaged)
	for _, e := range o.Send {
		s += part(fmt.Sprint("to ", e.To), e.Message)
	}
	return s + fmt.Sprintln(o.Recovered, o.Founded)
}

// startTwin starts the twin of a member.
func startTwin(t *testing.T, c core.Config) *twin {
	t.Helper()
	p := exec.Command("python3", "checkpoint.py") // it ends with its input
	p.Stderr = os.Stderr
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatalf("%v: run 'make deps'", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := &twin{t: t, in: in, out: bufio.NewScanner(out), dir: t.TempDir()}
	w.out.Buffer(nil, 1<<24)
	t.Cleanup(func() {
		in.Close()
		if err := p.Wait(); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
	w.write(map[string]any{"me": c.Self, "n": c.Members, "k": c.Data, "keys": c.Keys, "dir": w.dir})
	return w
}

func (w *twin) write(v any) {
	w.t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		_, err = w.in.Write(append(b, '\n'))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// do has the twin take a step, and compares what comes of it.
func (w *twin) do(s step, inGo outcome) {
	w.t.Helper()
	w.write(s)
	if !w.out.Scan() {
		w.t.Fatalf("the program in Python ended at %s: %v", s.Do, w.out.Err())
	}
	var got outcome
	if err := json.Unmarshal(w.out.Bytes(), &got); err != nil {
		w.t.Fatal(err)
	}
	if got.text() != inGo.text() {
		line, _ := json.Marshal(s)
		w.t.Fatalf("%s\nin Go:\n%s\nin Python:\n%s", line, inGo.text(), got.text())
	}
}

// A ram is a disk.
type ram map[string][]byte

func (d ram) List() ([]string, error) { return slices.Sorted(maps.Keys(d)), nil }

func (d ram) Read(name string) ([]byte, error) {
	if b, ok := d[name]; ok {
		return b, nil
	}
	return nil, os.ErrNotExist
}

func (d ram) Write(name string, b []byte) error {
	d[name] = bytes.Clone(b)
	return nil
}

func (d ram) Remove(name string) error {
	delete(d, name)
	return nil
}

// A letter is a message on its way.
type letter struct {
	from int
	core.Envelope
}

// A game is seven members with any views, and messages in any order. One of them has a twin.
type game struct {
	t        *testing.T
	dice     *rand.Rand
	config   core.Config
	me       int
	machines []*core.Machine
	vaults   []*core.Vault
	disks    []ram
	way      []letter
	view     core.Roster
	twin     *twin
	seen     map[string]int
}

func newGame(t *testing.T, seed uint64) *game {
	t.Helper()
	const n, k, me = 7, 4, 2
	rs, err := code.New(k, n)
	if err != nil {
		t.Fatal(err)
	}
	g := &game{t: t, dice: rand.New(rand.NewPCG(seed, 0)), me: me, config: core.Config{Self: me, Members: n, Data: k, Keys: []string{"x", "y", "tile ä"}, Coder: rs},
		seen: make(map[string]int)}
	for m := range n {
		g.disks = append(g.disks, make(ram))
		v, err := core.OpenVault(m, g.disks[m], true)
		if err != nil {
			t.Fatal(err)
		}
		g.vaults = append(g.vaults, v)
		g.machines = append(g.machines, g.machine(m))
	}
	g.twin = startTwin(t, g.config)
	return g
}

func (g *game) machine(m int) *core.Machine {
	c := g.config
	c.Self = m
	return core.New(c)
}

// reset begins another membership.
func (g *game) reset(m int) {
	g.machines[m] = g.machine(m)
	g.step(m, step{Do: "new"}, func(*core.Machine) {})
}

// step has a member take a step, and its twin too.
func (g *game) step(m int, s step, inGo func(*core.Machine)) {
	inGo(g.machines[m])
	e := g.machines[m].Take()
	if m == g.me {
		g.twin.do(s, outcomeOf(e))
		for _, i := range e.Inherit {
			g.seen[map[bool]string{true: "begin", false: "resume"}[i.Begin]]++
		}
		g.seen["complete"] += len(e.Complete)
		g.seen["wait"] += len(e.Waiting)
		if e.Recovered {
			g.seen["recovered"]++
		}
		if e.Founded {
			g.seen["founded"]++
		}
	}
	for _, to := range e.Send {
		g.way = append(g.way, letter{m, to})
	}
}

// deliver delivers some message, of which it may keep a copy, or loses it.
func (g *game) deliver() {
	if len(g.way) == 0 {
		return
	}
	at := g.dice.IntN(min(len(g.way), 12))
	l := g.way[at]
	if g.dice.IntN(50) > 0 {
		g.way = slices.Delete(g.way, at, at+1)
	}
	if g.dice.IntN(100) == 0 {
		return
	}
	if !l.ToVault() {
		g.step(l.To, step{Do: "receive", From: l.from, Message: &l.Message}, func(m *core.Machine) { m.Receive(l.from, &l.Message) })
		return
	}
	reply, ok, err := g.vaults[l.To].Receive(&l.Message)
	if err != nil {
		g.t.Fatal(err)
	}
	o := outcome{}
	if ok {
		o.Reply = &reply
		g.way = append(g.way, letter{l.To, core.Envelope{To: l.from, Message: reply}})
	}
	if l.To == g.me {
		g.seen[string(reply.Kind)]++
		g.twin.do(step{Do: "vault", Message: &l.Message}, o)
	}
}

// turn installs a view of some members at most of them.
func (g *game) turn() {
	g.view.Number.Vid++
	if g.dice.IntN(2) == 0 {
		g.view.Number.Token++
	}
	g.way = slices.DeleteFunc(g.way, func(letter) bool { return g.dice.IntN(8) > 0 })
	order := g.dice.Perm(g.config.Members)
	g.view.Members = core.Of(order[:4+g.dice.IntN(4)]...)
	g.view.Manager = order[g.dice.IntN(4)]
	if g.dice.IntN(3) == 0 && g.view.Members.Has(g.me) {
		g.view.Manager = g.me
	}
	for m := range g.config.Members {
		if !g.view.Members.Has(m) && g.dice.IntN(3) > 0 {
			g.reset(m)
		}
	}
	for m := range g.view.Members.All() {
		if g.dice.IntN(10) > 0 {
			g.step(m, step{Do: "view", View: g.view.Number, Members: g.view.Members, Manager: g.view.Manager}, func(x *core.Machine) { x.SetView(g.view) })
		}
	}
}

// save has the program of a member save a state.
func (g *game) save(m int) {
	keys := g.machines[m].Owned()
	if len(keys) == 0 {
		return
	}
	s := step{Do: "save", Key: keys[g.dice.IntN(len(keys))], Seq: g.dice.Uint64N(40), State: make([]byte, g.dice.IntN(50))}
	for i := range s.State {
		s.State[i] = byte(g.dice.Uint32())
	}
	g.step(m, s, func(x *core.Machine) { x.Save(s.Key, s.Seq, s.State) })
}

// damage cuts a share of a member short, and has its vault find that.
func (g *game) damage(m int) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(g.disks[m])), func(name string) bool { return name[0] != 's' })
	if len(names) == 0 {
		return
	}
	name := names[g.dice.IntN(len(names))]
	g.disks[m][name] = g.disks[m][name][:len(g.disks[m][name])/2]
	keys := g.vaults[m].Scrub()
	if m == g.me {
		if err := os.Truncate(filepath.Join(g.twin.dir, name), int64(len(g.disks[m][name]))); err != nil {
			g.t.Fatal(err)
		}
		g.seen["damaged"]++
		g.twin.do(step{Do: "scrub"}, outcome{Damaged: keys})
	}
	for to := range g.config.Members {
		g.way = append(g.way, letter{m, core.Envelope{To: to, Message: core.Message{Kind: core.Spoilt, Keys: keys}}})
	}
}

// The machine and the vault in Python do what those of package core do, step by step, and write the same files.
func TestPythonDecidesAsGoDoes(t *testing.T) {
	seen := make(map[string]int)
	for seed := range uint64(3) {
		g := newGame(t, seed)
		g.seen = seen
		for range 6000 {
			m := g.dice.IntN(g.config.Members)
			switch p := g.dice.IntN(1000); {
			case p < 3:
				g.turn()
			case p < 15:
				g.step(m, step{Do: "tick"}, (*core.Machine).Tick)
			case p < 40:
				g.save(m)
			case p < 43:
				g.damage(m)
			case p < 44:
				g.reset(m)
			default:
				g.deliver()
			}
		}
		files, err := os.ReadDir(g.twin.dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(files) != len(g.disks[g.me]) {
			t.Errorf("seed %d: the vault in Python has %d files, that in Go %d", seed, len(files), len(g.disks[g.me]))
		}
		for _, f := range files {
			b, err := os.ReadFile(filepath.Join(g.twin.dir, f.Name()))
			if want := g.disks[g.me][f.Name()]; err != nil || !bytes.Equal(b, want) {
				t.Errorf("seed %d: %s: in Python %q (%v), in Go %q", seed, f.Name(), b, err, want)
			}
		}
	}
	t.Log(seen)
	for _, what := range []string{"begin", "resume", "complete", "wait", "recovered", "founded", "stored", "shares", "refused", "damaged"} {
		if seen[what] == 0 {
			t.Errorf("%s never happened", what)
		}
	}
}

// A tile in Python is the tile in Go.
func TestPythonComputesTheSameTiles(t *testing.T) {
	const frames = 3
	script := fmt.Sprintf("import sys; sys.dont_write_bytecode = True\nfrom fractal import *\nfor key in KEYS[:6]:\n  s = begin(key, %d)\n  for f in range(%d): s = advance(key, 63 + f, s)\n  print(s.hex())", seed, frames)
	out, err := exec.CommandContext(t.Context(), "python3", "-c", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := bytes.Fields(out)
	for i, key := range fractal.Keys()[:6] {
		state := fractal.Begin(key, seed)
		for f := range uint64(frames) {
			state = fractal.Next(key, 63+f, state)
		}
		if want := fmt.Sprintf("%x", state); len(lines) != 6 || string(lines[i]) != want {
			t.Fatalf("%s differs", key)
		}
	}
}
