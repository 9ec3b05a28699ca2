package link

import (
	"math/rand/v2"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// Machine is a member with links and nothing above them but words, so that links can be watched by themselves. What follows
// from the links is in its facts; it has no views.
type Machine struct {
	links  *Links
	talk   time.Duration
	random *rand.Rand
	next   protocol.Time // when it says something again
	word   Word
}

// NewMachine returns a member that is about to start. It says something every talk or so, to members that it draws; never, if talk is
// zero. The command Transfer has it say one word to a member.
func NewMachine(c Config, talk time.Duration, seed uint64) (*Machine, error) {
	links, err := New(c)
	if err != nil {
		return nil, err
	}
	return &Machine{links: links, talk: talk, random: rand.New(rand.NewPCG(seed, 0x11ac)), next: protocol.Never}, nil
}

// Step takes one event. Events other than Start, Tick, Transfer and messages change nothing.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch ev := ev.(type) {
	case protocol.Start:
		m.pause(now)
	case *protocol.Receive:
		m.links.Receive(now, ev)
	case protocol.Transfer:
		m.say(ev.To)
	}
	m.links.Tick(now)
	if now >= m.next {
		m.chat()
		m.pause(now)
	}
	m.links.Flush(now, out)
	out.Facts = m.links.Facts(out.Facts)
	out.Wake = min(m.next, m.links.Wake())
}

// pause draws when something is said next.
func (m *Machine) pause(now protocol.Time) {
	if m.talk > 0 {
		m.next = now.Add(m.talk/2 + time.Duration(m.random.Int64N(int64(m.talk))))
	}
}

// A member says up to fewWords at once, and once in rarely times more than a window holds.
const fewWords, rarely = 4, 32

// chat says a few words to one member, and sometimes more than a window holds.
func (m *Machine) chat() {
	to := protocol.Rank(m.random.IntN(len(m.links.ends)))
	n := 1 + m.random.IntN(fewWords)
	if m.random.IntN(rarely) == 0 {
		n += m.links.config.Window
	}
	for range n {
		m.say(to)
	}
}

// say says one word to a member, unless its link is down.
func (m *Machine) say(to protocol.Rank) {
	if int(to) >= len(m.links.ends) {
		return
	}
	m.word.Number++
	m.links.Send(to, &m.word)
}
