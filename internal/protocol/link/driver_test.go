package link

import (
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

const ms = time.Millisecond

// A side is one end of a link in a test that passes messages by hand.
type side struct {
	t     *testing.T
	links *Links
	me    protocol.Ident
	out   []protocol.Envelope
	saw   []Change
	words []uint64
}

func newSide(t *testing.T, self protocol.Rank, inc protocol.Inc) *side {
	t.Helper()
	l, err := New(Default(self, 2, inc))
	if err != nil {
		t.Fatal(err)
	}
	return &side{t: t, links: l, me: protocol.Ident{Rank: self, Inc: inc}}
}

// at returns an instant of a clock that began long before.
func at(d time.Duration) protocol.Time { return protocol.Time(time.Hour).Add(d) }

// tick lets a side do what is due, and keeps what it sends.
func (s *side) tick(now time.Duration) {
	s.saw = append(s.saw, s.links.Tick(at(now))...)
	s.flush(now)
}

func (s *side) flush(now time.Duration) {
	var out protocol.Effects
	s.links.Flush(at(now), &out)
	for _, e := range out.Send {
		e.Message = e.Message.Copy()
		s.out = append(s.out, e)
	}
}

// hear lets a side receive one message.
func (s *side) hear(now time.Duration, from protocol.Ident, m protocol.Message) {
	changes, got := s.links.Receive(at(now), &protocol.Receive{From: from, Message: m, Delay: protocol.Unknown})
	s.saw = append(s.saw, changes...)
	for _, m := range got {
		s.words = append(s.words, m.(*Word).Number)
	}
	s.tick(now)
}

// say posts a word.
func (s *side) say(now time.Duration, number uint64) bool {
	ok := s.links.Send(1-s.me.Rank, &Word{Number: number})
	s.flush(now)
	return ok
}

// take returns what a side has sent and forgets it.
func (s *side) take() []protocol.Envelope {
	out := s.out
	s.out = nil
	return out
}

// talk passes everything both ways, at one instant, until both are silent.
func talk(now time.Duration, a, b *side) {
	for len(a.out)+len(b.out) > 0 {
		for _, e := range a.take() {
			b.hear(now, a.me, e.Message)
		}
		for _, e := range b.take() {
			a.hear(now, b.me, e.Message)
		}
	}
}

// run lets both sides live for a while over a perfect link.
func run(from, to time.Duration, a, b *side) {
	for now := from; now < to; now += 10 * ms {
		a.tick(now)
		b.tick(now)
		talk(now, a, b)
	}
}

// heard checks which words a side was delivered.
func (s *side) heard(words ...uint64) {
	s.t.Helper()
	if !slices.Equal(s.words, words) {
		s.t.Errorf("%v was delivered %v, want %v", s.me, s.words, words)
	}
}

// plain is a message that has nothing to do with links.
type plain struct{}

func (m *plain) Copy() protocol.Message { return &plain{} }
func (m *plain) Name() string           { return "test.Plain" }
