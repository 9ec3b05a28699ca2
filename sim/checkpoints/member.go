package checkpoints

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/regentproject/regent/checkpoint/core"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// EvWork is what a program does: Group is the key, Seq the frame, (Term, Gen) the view, Why begin, resume, frame, complete, wait, founded or recovered.
const EvWork protocol.Ev = "work"

// A word carries a message of programs.
type word struct{ core.Message }

// Copy returns the message itself: nobody changes one.
func (w *word) Copy() protocol.Message { return w }

// Name returns its kind.
func (w *word) Name() string { return "checkpoint." + string(w.Kind) }

// A platter is a disk that survives its member.
type platter struct {
	files map[string][]byte
	// seed is what keys begin from. A member forgets it once all keys have been complete.
	seed bool
}

var errNoFile = errors.New("no such file")

func (p *platter) List() ([]string, error) { return slices.Sorted(maps.Keys(p.files)), nil }

func (p *platter) Read(name string) ([]byte, error) {
	if b, ok := p.files[name]; ok {
		return b, nil
	}
	return nil, errNoFile
}

func (p *platter) Write(name string, b []byte) error {
	p.files[name] = slices.Clone(b)
	return nil
}

func (p *platter) Remove(name string) error {
	delete(p.files, name)
	return nil
}

// A tile is a key that the program works on.
type tile struct {
	seq, complete uint64
	state         []byte
	next          protocol.Time
}

// A member is a member of the group with its program and its store.
type member struct {
	*rain.Machine
	run     *Run
	self    protocol.Rank
	dice    *sim.Dice
	disk    *platter
	vault   *core.Vault
	machine *core.Machine // nil: out of the group
	tiles   map[string]*tile
	// asked is the view that the program was asked to recover, and recovered the one that it has.
	asked, recovered rain.Number
	said             []protocol.Event
	again            protocol.Time // when to send again
	scrub            protocol.Time
	wake             protocol.Time // of the machine below
	// line holds messages with shares that have not left yet, and busy is when the last of them has.
	line []parcel
	busy protocol.Time
}

// A parcel is a message that leaves at a time.
type parcel struct {
	at protocol.Time
	protocol.Envelope
}

// send sends a message after those before it, as fast as the line of the member is.
func (m *member) send(now protocol.Time, out *protocol.Effects, to int, msg core.Message) {
	e := protocol.Envelope{To: protocol.Rank(to), Message: &word{msg}}
	size := 0
	if msg.Share != nil {
		size = len(msg.Share.Data)
	}
	for _, s := range msg.Found.Shares {
		size += len(s.Data)
	}
	if m.run.Line == 0 || size == 0 || to == int(m.self) {
		out.Send = append(out.Send, e)
		return
	}
	for i := range m.line { // it has not left yet
		if w := m.line[i].Message.(*word); m.line[i].To == e.To && w.Kind == msg.Kind && w.Key == msg.Key && w.View == msg.View && (msg.Share == nil || w.Share.ID == msg.Share.ID) {
			return
		}
	}
	m.busy = max(m.busy, now).Add(time.Duration(size*m.run.Scale) * time.Second / time.Duration(m.run.Line))
	m.line = append(m.line, parcel{m.busy, e})
}

// leave sends what has waited for the line.
func (m *member) leave(now protocol.Time, out *protocol.Effects) {
	for len(m.line) > 0 && m.line[0].at <= now {
		out.Send = append(out.Send, m.line[0].Envelope)
		m.line = m.line[1:]
	}
	if len(m.line) > 0 {
		out.Wake = min(out.Wake, m.line[0].at)
	}
}

const (
	resend = 50 * time.Millisecond
	scrubs = 2 * time.Second
)

// spawn makes a member that starts.
func (r *Run) spawn(b sim.Boot) (protocol.Machine, error) {
	n, err := nerio.New(suite.NerioConfig(b), b.Record, b.Seed)
	if err != nil {
		return nil, err
	}
	m, err := rain.New(suite.RainConfig(b, rain.Omega, true), n, b.Record)
	if err != nil {
		return nil, err
	}
	disk := r.disks[b.Self]
	v, err := core.OpenVault(int(b.Self), disk, disk.seed)
	if err != nil {
		return nil, err
	}
	return &member{Machine: m, run: r, self: b.Self, dice: sim.NewDice(b.Seed, 0xc4ec), disk: disk, vault: v, wake: protocol.Never}, nil
}

// Step lets the program act, and then the member.
func (m *member) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	r, ok := ev.(*protocol.Receive)
	var w *word
	if ok {
		w, ok = r.Message.(*word)
	}
	if ok {
		m.hear(now, r.From, w, out)
		m.work(now, out)
		out.Wake = m.wake
	} else {
		if _, ok := ev.(protocol.Tick); ok && len(m.said) > 0 {
			ev, m.said = m.said[0], m.said[1:]
		}
		m.Machine.Step(now, ev, out)
		m.wake = out.Wake
		for i := range out.Views {
			if v := &out.Views[i]; v.Domain == protocol.Consistent {
				m.view(v)
			}
		}
		m.work(now, out)
	}
	m.leave(now, out)
	if len(m.said) > 0 {
		out.Wake = now
	}
	if m.machine != nil {
		out.Wake = min(out.Wake, m.again)
		for _, t := range m.tiles { // order does not matter: the earliest
			if m.run.works(t) {
				out.Wake = min(out.Wake, max(now, t.next))
			}
		}
	}
}

// hear takes a message of another program, or of its own.
func (m *member) hear(now protocol.Time, from protocol.Ident, w *word, out *protocol.Effects) {
	if !w.ToVault() {
		if m.machine != nil {
			m.machine.Receive(int(from.Rank), &w.Message)
		}
		return
	}
	if reply, ok, _ := m.vault.Receive(&w.Message); ok {
		m.send(now, out, int(from.Rank), reply)
	}
}

// view takes a view of the group.
func (m *member) view(v *protocol.View) {
	if v.Stop {
		m.said = append(m.said, protocol.Stopped{Group: v.Group}, protocol.Campaign{Group: v.Group})
	}
	if v.Agreed == nil || v.Stop {
		m.machine, m.tiles = nil, nil
		return
	}
	if m.machine == nil {
		c := m.run.config
		c.Self = int(m.self)
		m.machine, m.tiles = core.New(c), make(map[string]*tile)
	}
	n := rain.Number{Token: v.Term, Vid: v.Agreed.Vid}
	if v.Agreed.Recover {
		m.asked = n
	}
	var members core.Set
	for r := range v.Support.All() {
		members |= core.Of(int(r))
	}
	m.machine.SetView(core.Roster{Number: core.Number{Token: n.Token, Vid: n.Vid}, Members: members, Manager: int(v.Leader.Rank)})
}

// work computes the frames that are due, and does what the core asks for.
func (m *member) work(now protocol.Time, out *protocol.Effects) {
	if m.machine == nil {
		return
	}
	if now >= m.again {
		m.again = now.Add(resend)
		m.machine.Tick()
	}
	if now >= m.scrub {
		m.scrub = now.Add(scrubs)
		if keys := m.vault.Scrub(); len(keys) > 0 {
			for to := range m.machine.View().Members.All() {
				m.send(now, out, to, core.Message{Kind: core.Spoilt, Keys: keys})
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.tiles)) {
		t := m.tiles[key]
		if !m.run.works(t) || now < t.next {
			continue
		}
		t.seq++
		t.state, t.next = frame(t.state, key, t.seq), now.Add(m.dice.Between(100*time.Millisecond, 500*time.Millisecond)/time.Duration(max(1, m.run.Hurry)))
		m.fact(out, "frame", key, t.seq, nil)
		if t.seq%interval == 0 || t.seq == m.run.Frames {
			m.machine.Save(key, t.seq, t.state)
		}
	}
	m.effects(now, out)
}

// effects does what the core asks for.
func (m *member) effects(now protocol.Time, out *protocol.Effects) {
	do := m.machine.Take()
	for _, i := range do.Inherit {
		t := &tile{seq: i.Seq, complete: i.Complete, state: i.State, next: now}
		m.tiles[i.Key] = t
		if i.Begin {
			t.state = first(i.Key, m.run.Size, m.disk.seed)
			m.machine.Save(i.Key, 0, t.state)
			m.fact(out, "begin", i.Key, 0, nil)
		} else {
			m.fact(out, "resume", i.Key, i.Seq, i.From)
		}
	}
	for _, c := range do.Complete {
		if t := m.tiles[c.Key]; t != nil {
			t.complete = c.ID.Seq
			m.fact(out, "complete", c.Key, c.ID.Seq, completed{c.ID, t.state})
		}
	}
	for _, w := range do.Waiting {
		m.fact(out, "wait", w.Key, w.ID.Seq, w.ID)
	}
	for _, e := range do.Send {
		m.send(now, out, e.To, e.Message)
	}
	v := m.machine.View().Number
	if do.Founded {
		m.disk.seed = false
		_ = m.vault.Recovered(v)
		m.fact(out, "founded", "", 0, nil)
	}
	if do.Recovered {
		m.recovered = rain.Number{Token: v.Token, Vid: v.Vid}
		m.fact(out, "recovered", "", 0, nil)
	}
	if m.asked == m.recovered && m.asked != (rain.Number{}) {
		m.said = append(m.said, protocol.Recover{Group: suite.RainGroup, Term: m.asked.Token, Vid: m.asked.Vid})
		m.asked = rain.Number{}
	}
	if more := m.machine; len(do.Inherit) > 0 && more != nil {
		m.effects(now, out) // a key that begins has been saved
	}
}

// completed is a checkpoint that is complete, with the state that it holds.
type completed struct {
	ID    core.ID
	State []byte
}

func (m *member) fact(out *protocol.Effects, why, key string, seq uint64, detail any) {
	v := m.machine.View().Number
	out.Facts = append(out.Facts, protocol.Fact{Ev: EvWork, Group: protocol.Group(key), Seq: seq, Term: v.Token, Gen: v.Vid, Why: why, Detail: detail})
}

// first is the state before the first frame.
func first(key string, size int, seed bool) []byte {
	state := make([]byte, size)
	if seed {
		h := fnv.New64a()
		_, _ = h.Write([]byte("seed " + key))
		binary.BigEndian.PutUint64(state, h.Sum64())
	}
	return state
}

// frame is the state after a frame.
func frame(state []byte, key string, seq uint64) []byte {
	h := fnv.New64a()
	_, _ = h.Write(state)
	_, _ = h.Write([]byte(key))
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, seq))
	next := slices.Clone(state)
	binary.BigEndian.PutUint64(next[8*(seq%uint64(len(state)/8)):], h.Sum64())
	return next
}
