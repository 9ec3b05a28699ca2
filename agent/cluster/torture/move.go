//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/roster"
)

// A mover has the hosts without an agent take turns in the council while all else happens: one joins with an empty directory, and then the other one
// leaves. Some changes are cancelled. Some hosts come up late, and in each phase of a change hosts lose their disks: the one that joins, the one that leaves, and
// one that stays. Between two turns the timing changes, or the role or the priority of a host.
type mover struct {
	arena *arena
	// wanted is to be the only one of the hosts in the council.
	wanted *host
	// answers has what became of the question or the order that is under way; nil if there is none.
	answers chan answer
	// next is when to look again, and up when a host that joins comes up.
	next, up time.Time
	// ended is the number at which a change was last seen to have ended without its goal.
	ended uint64
	// lost is the host whose disk was lost last. If too many voters have lost theirs at once, nobody knows what was agreed on, and the council goes on no more.
	lost *host
	// ending says that no change is to begin, and settled that none is running.
	ending, settled bool
}

// answer is what an agent says of the council.
type answer struct {
	council roster.Council
	err     error
}

// councilOrder is the body of a change of the council.
type councilOrder struct {
	roster.Change
	Yes bool `json:"yes"`
}

const (
	// moveEvery is how often an agent is asked for the council, and moveRest how long a council stays as it is at most.
	moveEvery = 300 * time.Millisecond
	moveRest  = 2 * time.Second
	// moveLate is how late a host may come up that joins.
	moveLate = 10 * time.Second
	// moveWithin is how long a change waits for a host that joins: a late one is given up.
	moveWithin = 7 * time.Second
)

// Of a hundred looks at a running change, so many cancel it, and so many take the disk of a host; more do where none was lost in that phase before. Of a hundred hosts that join, so many
// come up late. Of a hundred looks at a council that is settled, so many change something else than who the members are.
const (
	percentCancelled = 3
	percentLostDisk  = 8
	percentFirstLost = 40
	percentLate      = 30
	percentSet       = 50
)

// ask asks an agent for the council, or for a change of it.
func ask(socket string, change *roster.Change) (got answer) {
	c := client(socket)
	defer c.CloseIdleConnections()
	method, body := http.MethodGet, []byte(nil)
	if change != nil {
		method = http.MethodPost
		body, got.err = json.Marshal(councilOrder{Change: *change, Yes: true})
		if got.err != nil {
			return got
		}
	}
	r, err := http.NewRequest(method, "http://agent/v1/council", bytes.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	a, err := c.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return answer{err: errors.New(a.Status)}
	}
	got.err = json.NewDecoder(a.Body).Decode(&got.council)
	return got
}

// send asks a random agent, in the background.
func (m *mover) send(change *roster.Change) {
	var agents []*host
	for _, h := range m.arena.hosts {
		if h.agent {
			agents = append(agents, h)
		}
	}
	socket := m.arena.Socket(agents[m.arena.rand.IntN(len(agents))].name)
	answers := make(chan answer, 1)
	m.answers = answers
	go func() { answers <- ask(socket, change) }()
}

// sweep goes on with what is to be done.
func (m *mover) sweep(now time.Time) {
	if w := m.wanted; w.runs && w.joins && m.arena.Process(w.name).Ended() {
		// The change by which it came was cancelled or given up, and it has left. It needs an empty directory to come again.
		m.arena.try("wipe "+w.name, m.arena.wipe(w))
	}
	if w := m.wanted; !w.runs && now.After(m.up) && w.fault.undo == nil {
		m.arena.try("start "+w.name, m.arena.startMember(w))
	}
	if m.answers == nil {
		if now.After(m.next) {
			m.send(nil)
		}
		return
	}
	select {
	case a := <-m.answers:
		m.answers, m.next = nil, now.Add(moveEvery)
		if a.err == nil {
			m.look(now, &a.council)
		}
	default:
	}
}

// other returns the host that is not wanted.
func (m *mover) other() *host {
	i := slices.IndexFunc(m.arena.hosts, func(h *host) bool { return !h.agent && h != m.wanted })
	return m.arena.hosts[i]
}

// look decides what comes next.
func (m *mover) look(now time.Time, c *roster.Council) {
	a, other := m.arena, m.other()
	in := func(h *host) bool {
		return slices.ContainsFunc(c.Members, func(p roster.Member) bool { return p.Name == h.name })
	}
	m.settled = c.Settled && c.Goal == nil
	if m.settled && m.lost != nil && !m.lost.agent {
		m.lost = nil // the change has gone on with it
	}
	if c.Ended != "" && c.Number != m.ended {
		m.ended = c.Number
		m.did("see a change end: "+how(c.Ended), "council")
	}
	switch {
	case !m.settled && m.ending:
	case !m.settled && a.percent(percentCancelled):
		m.did("cancel a change of the council", "council")
		m.send(&roster.Change{Cancel: true})
	case !m.settled:
		m.loseDisk(c.Phase, in)
	case in(m.wanted) && in(other):
		m.send(&roster.Change{Remove: []string{other.name}})
	case in(m.wanted) && m.ending:
	case in(m.wanted) && a.percent(percentSet):
		m.set(c)
	case in(m.wanted):
		m.turn(now, other)
	default:
		p, err := a.Peer(m.wanted.name)
		a.try("move", err)
		change := &roster.Change{Add: []regent.Peer{p}, Within: moveWithin}
		if in(other) {
			change.Remove = []string{other.name}
		}
		m.send(change)
	}
}

// hasJoined is what an agent logs once its member takes part.
const hasJoined = "the member has joined the council"

// loseDisk takes the disk of a host while a change is in a phase.
func (m *mover) loseDisk(phase roster.Phase, in func(*host) bool) {
	a, other := m.arena, m.other()
	if m.lost != nil && in(m.lost) && (!m.lost.agent || !strings.Contains(a.Process(m.lost.name).Log(), hasJoined)) {
		return // the others tell it what it had promised
	}
	if phase == roster.Idle {
		phase = roster.Settling // in the last configuration
	}
	type choice struct {
		who string
		h   *host
	}
	all := []choice{{"that stays", a.hosts[a.rand.IntN(agents)]}, {"that joins", m.wanted}, {"that leaves", other}}
	all = slices.DeleteFunc(all, func(x choice) bool {
		if x.h.agent {
			return !a.mayBreak(x.h)
		}
		return !x.h.runs || x.h.fault.undo != nil || x.h == m.wanted && !x.h.joins || x.h == other && !in(other)
	})
	if len(all) == 0 {
		return
	}
	chosen := all[a.rand.IntN(len(all))]
	who, h := chosen.who, chosen.h
	what, often := "lose the disk of a host "+who+" while the council is "+string(phase), percentLostDisk
	if a.done[what] == 0 {
		often = percentFirstLost
	}
	if !a.percent(often) {
		return
	}
	m.did(what, h.name)
	m.lost = h
	if h.agent {
		a.try("lose disk", a.loseRecord(h))
		return
	}
	a.try("lose disk", errors.Join(a.wipe(h), a.startMember(h)))
}

// loseRecord kills an agent and takes the record of its member. What else is in its directory stays: an agent without its list of runners cannot
// kill what these leave behind. The agent is started again as after other faults.
func (a *arena) loseRecord(h *host) error {
	p, s := a.Process(h.name), h.seats[0]
	a.hit(s, partAgent, true, a.find(s, partAgent))
	<-p.Gone()
	all, err := filepath.Glob(filepath.Join(a.Dir, h.name, "record*"))
	for _, name := range all {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// set changes what the members agree on besides who they are: the timing, or the role or the priority of a host with an agent. One host at a time is a
// witness, so that there are others to lead.
func (m *mover) set(c *roster.Council) {
	a := m.arena
	at := slices.IndexFunc(c.Members, func(p roster.Member) bool { return p.Witness })
	if at < 0 {
		name := a.hosts[a.rand.IntN(agents)].name
		at = slices.IndexFunc(c.Members, func(p roster.Member) bool { return p.Name == name })
	}
	x := c.Members[at]
	p := x.Peer
	if len(x.AgreedAddrs) > 0 {
		p.Addrs = x.AgreedAddrs
	}
	var change roster.Change
	switch what := a.rand.IntN(4); {
	case p.Witness: // its runners have ended
		m.did("let a witness lead again", p.Name)
		p.Witness = false
	case what == 0:
		m.did("change the longest lease", "council")
		change.Timing = &roster.Timing{LongestLease: longestLease + time.Duration(a.rand.IntN(3)-1)*time.Second}
	case what == 1:
		m.did("change the bound on drift", "council")
		change.Timing = &roster.Timing{Drift: 0.001 * float64(1+a.rand.IntN(2))}
	case what == 2:
		m.did("change a priority", p.Name)
		p.Priority = a.rand.IntN(3)
	default:
		m.did("make a host a witness", p.Name)
		p.Witness = true
	}
	if change.Timing == nil {
		change.Set = []regent.Peer{p}
	}
	m.send(&change)
}

// how says how a change ended, without names.
func how(ended string) string {
	if strings.HasPrefix(ended, "given up") {
		return "given up"
	}
	return "cancelled"
}

// turn has the hosts change places: the one that has left the council loses its directory, and joins again.
func (m *mover) turn(now time.Time, out *host) {
	a := m.arena
	if out.fault.undo != nil {
		return // what was done to it is undone first
	}
	a.try("wipe "+out.name, a.wipe(out))
	m.wanted = out
	m.next = now.Add(time.Duration(a.rand.Int64N(int64(moveRest))))
	m.up = m.next
	if a.percent(percentLate) {
		m.up = m.next.Add(time.Duration(a.rand.Int64N(int64(moveLate))))
	}
	m.did("replace a member of the council", m.other().name)
}

// did takes note of what was done.
func (m *mover) did(what, where string) {
	m.arena.done[what]++
	fmt.Fprintf(m.arena.out, "%8.3fs  %s: %s\n", time.Since(m.arena.begin).Seconds(), where, what)
}

// finish waits until no change is running.
func (m *mover) finish() error {
	m.ending, m.settled = true, false
	return cluster.Wait(cluster.Patience, "the council has settled", func() bool {
		m.sweep(time.Now())
		return m.settled && m.answers == nil
	})
}

// startMember starts a member by the library. One that has lost its directory joins.
func (a *arena) startMember(h *host) error {
	o, err := a.Order(h.name)
	if err != nil {
		return err
	}
	o.Joins, o.Bootstrap = h.joins, !h.joins
	if h.joins {
		o.Council = slices.DeleteFunc(o.Council, func(p regent.Peer) bool { return p.Name == h.name })
	}
	h.runs = true
	return a.StartAs(h.name, o)
}

// wipe kills a member by the library, and removes its directory.
func (a *arena) wipe(h *host) error {
	h.joins = true
	p := a.Process(h.name)
	if h.runs && !p.Ended() {
		if err := a.Crash(h.name); err != nil {
			return err
		}
		<-p.Gone()
	}
	h.runs = false
	return os.RemoveAll(filepath.Join(a.Dir, h.name))
}
