package lease

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
)

const ms = time.Millisecond

// A council is a few members whose messages a test delivers by hand, all on one clock.
type council struct {
	t       *testing.T
	cfg     Config
	now     protocol.Time
	members []*half
	// deaf voters hear nothing; mute ones are not heard.
	deaf, mute protocol.Set
	sent       []envelope // everything that was sent, in order
}

// A half is one member: voter and holder.
type half struct {
	cfg     Config
	out     protocol.Effects
	terms   Terms
	reach   Reach
	grantor *Grantor
	holder  *Holder
	inc     protocol.Inc
	n       int
	// candidates and refuse are the policy's.
	candidates map[protocol.Group]bool
	refuse     bool
	outcomes   []Outcome
}

type envelope struct {
	from, to protocol.Rank
	msg      protocol.Message
	durable  bool
}

func (h *half) Accept(protocol.Time, protocol.Ident, *Claim) bool { return !h.refuse }
func (h *half) Candidate(c *Claim) (would, joined bool)           { return h.candidates[c.Group], false }
func (h *half) Complete(s protocol.Set) bool                      { return 2*s.Len() > h.n }

func plain(n int) Config {
	return Config{Members: n, Domain: protocol.Quorum, Epoch: 3, Digest: 9, RoundTrip: 20 * ms, Lease: 200 * ms, Longest: 300 * ms,
		Renew: 50 * ms, Rho: protocol.DefaultRho}
}

func newCouncil(t *testing.T, cfg Config) *council {
	c := &council{t: t, cfg: cfg, now: protocol.Time(time.Second)}
	if err := cfg.Check(); err != nil {
		t.Fatal(err)
	}
	for r := range cfg.Members {
		h := &half{cfg: cfg, n: cfg.Members, candidates: make(map[protocol.Group]bool)}
		h.cfg.Me = protocol.Rank(r)
		h.terms.Durable, h.reach.Durable = MaxTerm, cfg.Longest
		c.members = append(c.members, h)
		c.restart(protocol.Rank(r), c.now)
	}
	return c
}

// restart gives a member a new incarnation that has forgotten all but its terms, and that grants from ready on.
func (c *council) restart(r protocol.Rank, ready protocol.Time) {
	h := c.members[r]
	h.inc++
	h.grantor = NewGrantor(&h.cfg, h, &h.terms, &h.reach)
	h.holder = NewHolder(&h.cfg, h, &h.terms, h.grantor)
	h.holder.Reset(h.inc, h.grantor)
	h.grantor.Wait(ready)
}

func (c *council) ident(r protocol.Rank) protocol.Ident {
	return protocol.Ident{Rank: r, Inc: c.members[r].inc}
}

// An act is something that a test does to a member, as an event.
type act struct {
	protocol.Tick
	f func(h *half)
}

// Step implements protocol.Machine.
func (h *half) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	h.holder.Begin(now, out)
	h.grantor.Begin(now, out)
	ev.(act).f(h)
	h.holder.Flush(now)
	h.outcomes = append(h.outcomes, h.holder.TakeOutcomes()...)
}

// do runs f as one Step of a member and returns what it sent.
func (c *council) do(r protocol.Rank, f func(h *half)) []envelope {
	h := c.members[r]
	h.out = drivetest.Step(h, c.now, act{f: f})
	var out []envelope
	for _, e := range h.out.Send {
		out = append(out, envelope{r, e.To, e.Message.Copy(), e.Durable})
	}
	c.sent = append(c.sent, out...)
	return out
}

// deliver hands over one message and returns what its receiver sent.
func (c *council) deliver(l envelope) []envelope {
	if c.deaf.Has(l.to) && l.from != l.to || c.mute.Has(l.from) && l.from != l.to {
		return nil
	}
	from := c.ident(l.from)
	return c.do(l.to, func(h *half) {
		switch m := l.msg.(type) {
		case *Request:
			h.grantor.Request(c.now, from, protocol.Unknown, m)
		case *OK:
			h.holder.OK(c.now, from, m)
		case *Nack:
			h.holder.Nack(c.now, from, m)
		}
	})
}

// pump delivers messages until none is left.
func (c *council) pump(ls []envelope) {
	for len(ls) > 0 {
		l := ls[0]
		ls = append(ls[1:], c.deliver(l)...)
	}
}

// try lets a member try for a group, and tick lets time pass at all members.
func (c *council) try(r protocol.Rank, g protocol.Group) {
	c.pump(c.do(r, func(h *half) { h.holder.Try(c.now, g, 0) }))
}

func (c *council) tick(d time.Duration) {
	for end := c.now.Add(d); ; {
		next := end
		for _, h := range c.members {
			next = min(next, max(h.holder.Next(), c.now+1), max(h.grantor.Next(), c.now+1))
		}
		c.now = next
		for r := range c.members {
			c.pump(c.do(protocol.Rank(r), func(*half) {}))
		}
		if c.now == end {
			return
		}
	}
}

func (c *council) lease(r protocol.Rank, g protocol.Group) (Leadership, bool) {
	return c.members[r].holder.Lease(g)
}

// led fails unless the member leads the group, and returns its lease.
func (c *council) led(r protocol.Rank, g protocol.Group) Leadership {
	c.t.Helper()
	l, ok := c.lease(r, g)
	if !ok {
		c.t.Fatalf("%v does not lead %s", r, g)
	}
	return l
}

// request asks a voter directly.
func (c *council) request(to, from protocol.Rank, r Request) protocol.Message {
	return c.requestAged(to, c.ident(from), protocol.Unknown, r)
}

func (c *council) requestAged(to protocol.Rank, from protocol.Ident, age time.Duration, r Request) protocol.Message {
	c.t.Helper()
	if r.Delta == 0 {
		r.Delta = c.cfg.Lease
	}
	r.Epoch += c.cfg.Epoch
	r.Digest += c.cfg.Digest
	out := c.do(to, func(h *half) { h.grantor.Request(c.now, from, age, &r) })
	if len(out) != 1 || out[0].to != from.Rank {
		c.t.Fatalf("a request got %d answers", len(out))
	}
	return out[0].msg
}

// granted asks for one group and returns the result.
func (c *council) claim(to, from protocol.Rank, seq uint64, cl Claim) Result {
	c.t.Helper()
	ok, is := c.request(to, from, Request{Seq: seq, Claims: []Claim{cl}}).(*OK)
	if !is || len(ok.Results) != 1 {
		c.t.Fatal("a claim was not answered")
	}
	return ok.Results[0]
}

func facts(h *half, ev protocol.Ev) []protocol.Fact {
	var out []protocol.Fact
	for _, f := range h.out.Facts {
		if f.Ev == ev {
			out = append(out, f)
		}
	}
	return out
}
