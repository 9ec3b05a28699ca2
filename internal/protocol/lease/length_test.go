package lease

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

const long = time.Second

// mixed has room for longer leases than those of the council.
func mixed(n int) Config {
	cfg := plain(n)
	cfg.Longest = 2 * time.Second
	return cfg
}

func (c *council) tryFor(r protocol.Rank, g protocol.Group, length time.Duration) {
	c.pump(c.do(r, func(h *half) { h.holder.Try(c.now, g, length) }))
}

// asked returns the lengths that a request asks for.
func asked(m protocol.Message) []time.Duration {
	var out []time.Duration
	r := m.(*Request)
	if r.Delta > 0 {
		out = append(out, 0)
	}
	for _, a := range r.More {
		out = append(out, a.Length)
	}
	return out
}

func TestGroupsOfADeadHolderAreFreeEachAfterItsOwnLength(t *testing.T) {
	c := newCouncil(t, mixed(3))
	c.try(0, "quick")
	c.tryFor(0, "slow", long)
	died := c.now
	if q, s := c.led(0, "quick"), c.led(0, "slow"); s.Length != long || q.Length != 0 || s.End.Sub(q.End) != c.cfg.hold(long)-c.cfg.hold(c.cfg.Lease) {
		t.Fatalf("quick until %v, slow until %v", q.End, s.End)
	}
	c.mute, c.deaf = protocol.NewSet(0), protocol.NewSet(0)
	c.tick(c.cfg.Rho.WaitAtLeast(c.cfg.Lease))
	c.try(1, "quick")
	c.led(1, "quick")
	c.try(1, "slow")
	if _, ok := c.lease(1, "slow"); ok {
		t.Fatal("a lease of a second is taken after 200 ms")
	}
	for c.now.Sub(died) < c.cfg.Rho.WaitAtLeast(long) {
		c.tick(50 * ms)
	}
	c.try(1, "slow")
	c.led(1, "slow")
}

func TestBreakOfOneLengthLeavesTheOtherAlone(t *testing.T) {
	c := newCouncil(t, mixed(3))
	c.try(0, "quick")
	c.tryFor(0, "slow", long)
	h, v := c.members[0].holder, c.members[2].grantor
	w := v.wards[0]
	short, slow := *w.promise(0), *w.promise(long)
	c.deaf = protocol.NewSet(2)
	c.tick(300 * ms)
	c.deaf = protocol.Set{}
	c.tick(60 * ms)
	if p := w.promise(0); p.gen <= short.gen || p.gen == slow.gen {
		t.Errorf("the short promise is number %d after %d, with %d of the long one", p.gen, short.gen, slow.gen)
	}
	if p := w.promise(long); p.gen != slow.gen || !p.first.is("slow") {
		t.Errorf("the long promise went from %d to %d", slow.gen, p.gen)
	}
	if l, b := h.length(long), c.led(0, "slow").Backers; l.by[2].gen != slow.gen || !b.Has(2) {
		t.Errorf("the holder counts promise %d, backed by %v", l.by[2].gen, b)
	}
	if b := c.led(0, "quick").Backers; !b.Has(2) {
		t.Errorf("quick is not claimed again: backed by %v", b)
	}
}

func (e *entry) is(g protocol.Group) bool { return e != nil && e.group == g }

// A long lease is renewed as often per its length as a short one, together with it where both are due.
func TestOneRequestCarriesAllLengthsThatAreDue(t *testing.T) {
	c := newCouncil(t, mixed(3))
	c.tryFor(0, "slow", long)
	c.tick(2 * long)
	c.sent = nil
	c.tick(2 * long)
	var alone []time.Duration
	for _, e := range c.sent {
		if e.from == 0 && e.to == 1 {
			alone = append(alone, asked(e.msg)...)
		}
	}
	if len(alone) != 8 || slices.Contains(alone, 0) {
		t.Errorf("a lease of %v alone is renewed by %v in two of its lengths", long, alone)
	}
	c.try(0, "quick")
	c.tick(long)
	c.sent = nil
	c.tick(long)
	requests, both := 0, 0
	for _, e := range c.sent {
		if e.from != 0 || e.to != 1 {
			continue
		}
		requests++
		if slices.Equal(asked(e.msg), []time.Duration{0, long}) {
			both++
		}
	}
	if requests != 20 || both != 4 {
		t.Errorf("%d requests in %v, %d of them for both lengths", requests, long, both)
	}
	c.led(0, "slow")
	c.led(0, "quick")
}

func TestOnlyGroupsOfALengthMakeItLonger(t *testing.T) {
	cfg := mixed(3)
	cfg.PerGroup = ms
	c := newCouncil(t, cfg)
	for i := range 5 {
		c.try(0, protocol.Group(fmt.Sprint("quick", i)))
	}
	c.tryFor(0, "slow", long)
	h := c.members[0].holder
	if d := h.delta(h.length(0)); d != cfg.Lease+5*ms {
		t.Errorf("the short promise is asked for %v", d)
	}
	if d := h.delta(h.length(long)); d != long+ms {
		t.Errorf("the long promise is asked for %v", d)
	}
}

func TestNewTenureMayHaveAnotherLengthAndALateClaimOfTheOldOneIsTooLow(t *testing.T) {
	c := newCouncil(t, mixed(3))
	slow := Claim{Group: "g", Tenure: 1, Term: 1, Length: long}
	quick := Claim{Group: "g", Tenure: 2, Term: 2}
	ask := func(seq uint64, r Request) *OK {
		r.Seq = seq
		r.Delta, r.More = c.cfg.Lease, []Ask{{long, long}}
		ok, is := c.request(2, 0, r).(*OK)
		if !is {
			t.Fatal("the request was refused")
		}
		return ok
	}
	if r := ask(1, Request{Claims: []Claim{slow}}).Results; r[0].Code != Granted {
		t.Fatalf("the first claim: %v", r)
	}
	if r := ask(2, Request{Claims: []Claim{{Group: "g", Tenure: 1, Term: 3}}}).Results; r[0].Code != Low {
		t.Errorf("the same tenure with another length: %v", r)
	}
	if r := ask(3, Request{Claims: []Claim{quick}}).Results; r[0].Code != Granted {
		t.Fatalf("the next tenure: %v", r)
	}
	if r := ask(4, Request{Claims: []Claim{slow}}).Results; r[0].Code != Low {
		t.Errorf("a late claim of the tenure before: %v", r)
	}
	ask(5, Request{Releases: []Release{{Group: "g", Of: c.ident(0), Term: 1, To: protocol.Nobody}}})
	c.tick(c.cfg.Rho.WaitAtLeast(c.cfg.Lease) - 1)
	if s := c.members[2].grantor.Status(c.now, "g"); s.Holder != c.ident(0) {
		t.Error("the release of the tenure before freed the group")
	}
	c.tick(1)
	if s := c.members[2].grantor.Status(c.now, "g"); s.Holder != protocol.NoIdent {
		t.Error("the group did not move to the shorter promise")
	}
}

// A request that is too old for a short promise may be young enough for a long one.
func TestLateRequestRenewsOnlyWhatItIsYoungEnoughFor(t *testing.T) {
	c := newCouncil(t, mixed(3))
	c.do(0, func(h *half) {
		h.holder.Try(c.now, "quick", 0)
		h.holder.Try(c.now, "slow", long)
	})
	sent := c.sent
	for _, e := range sent {
		if e.to == 0 {
			c.pump([]envelope{e})
		}
	}
	c.now = c.now.Add(10 * ms)
	for _, e := range sent {
		if e.to != 1 {
			continue
		}
		out := c.do(1, func(h *half) { h.grantor.Request(c.now, c.ident(0), 300*ms, e.msg.(*Request)) })
		ok := out[0].msg.(*OK)
		if ok.Gen != 0 || len(ok.More) != 1 || len(ok.Results) != 1 || ok.Results[0].Group != "slow" {
			t.Fatalf("the answer is %+v", ok)
		}
		again := c.deliver(out[0])
		c.led(0, "slow")
		if _, leads := c.lease(0, "quick"); leads {
			t.Error("leads by a promise that nobody made")
		}
		c.pump(again)
	}
	c.led(0, "quick") // it was claimed once more at once
	all := &Request{Epoch: c.cfg.Epoch, Digest: c.cfg.Digest, Seq: 99, Delta: c.cfg.Lease, More: []Ask{{long, long}}}
	out := c.do(1, func(h *half) { h.grantor.Request(c.now, c.ident(0), long+1, all) })
	if n, is := out[0].msg.(*Nack); !is || n.Why != WhyLate {
		t.Errorf("a request that is too old for all: %+v", out[0].msg)
	}
}

func TestVoterRefusesLengthsThatAreTooManyTooLongOrNamedTwice(t *testing.T) {
	c := newCouncil(t, mixed(3))
	var nine []Ask
	for i := range time.Duration(MaxLengths) {
		nine = append(nine, Ask{(i + 1) * long / 10, long})
	}
	for name, r := range map[string]Request{
		"nine":     {More: nine},
		"too long": {More: []Ask{{long, c.cfg.Longest + 1}}},
		"for ever": {More: []Ask{{long, math.MaxInt64}}},
		"nothing":  {More: []Ask{{long, 0}}},
		"twice":    {More: []Ask{{long, long}, {long, long}}},
		"unnamed":  {More: []Ask{{0, long}}},
	} {
		r.Seq = 1
		if n, is := c.request(1, 0, r).(*Nack); !is || n.Why != WhyConfig {
			t.Errorf("%s: not refused", name)
		}
	}
	if _, is := c.request(1, 0, Request{Seq: 2, More: nine[1:]}).(*OK); !is {
		t.Error("eight lengths were refused")
	}
}

// Promises that have run out are forgotten, and their numbers are not used again.
func TestLengthsOfOldDoNotPileUp(t *testing.T) {
	c := newCouncil(t, mixed(3))
	w := func() *ward { return c.members[1].grantor.wards[0] }
	for i := range time.Duration(40) {
		length := long + i*ms
		g := protocol.Group(fmt.Sprint("g", i))
		c.tryFor(0, g, length)
		c.led(0, g)
		c.pump(c.do(0, func(h *half) { h.holder.Stopped(c.now, g, protocol.Nobody) }))
		c.tick(long / 2)
	}
	if n := len(w().promises); n > MaxLengths+4 {
		t.Errorf("%d promises to one holder", n)
	}
	if n := len(c.members[0].holder.lengths); n > MaxLengths {
		t.Errorf("%d lengths at the holder", n)
	}
	if w().gen < 40 {
		t.Errorf("40 promises have the numbers 1 to %d", w().gen)
	}
}

func TestNinthLengthFindsNoRoom(t *testing.T) {
	c := newCouncil(t, mixed(3))
	for i := range time.Duration(MaxLengths) {
		c.tryFor(0, protocol.Group(fmt.Sprint("g", int(i))), i*long/8)
	}
	h := c.members[0].holder
	if h.Room(long+1) || !h.Room(0) || !h.Room(long/8) {
		t.Error("room for a ninth length, or none for one of the eight")
	}
	c.tryFor(0, "ninth", long+1)
	if h.Tries("ninth") {
		t.Error("the ninth length is tried")
	}
	c.pump(c.do(0, func(h *half) { h.holder.Stopped(c.now, "g1", protocol.Nobody) }))
	c.tryFor(0, "ninth", long+1)
	c.led(0, "ninth")
}

// Seven lengths and that of the council are all in use: no request asks for more than voters grant, and nothing expires.
func TestCouncilLengthHasAPlaceBesideSevenOthers(t *testing.T) {
	c := newCouncil(t, mixed(3))
	var groups []protocol.Group
	for i := range 2 * time.Duration(MaxLengths) {
		g := protocol.Group(fmt.Sprint("g", int(i)))
		c.tryFor(0, g, 210*ms+i*10*ms) // short: every round renews them all
		if _, leads := c.lease(0, g); leads {
			groups = append(groups, g)
		}
	}
	if len(groups) != MaxLengths-1 {
		t.Fatalf("%v have leases of lengths of their own", groups)
	}
	c.tick(180 * ms)
	c.try(0, "plain")
	groups = append(groups, "plain")
	c.sent = nil
	c.tick(3 * time.Second)
	most := 0
	for _, e := range c.sent {
		switch m := e.msg.(type) {
		case *Nack:
			t.Fatalf("%v refuses a request: %v", e.from, m.Why)
		case *Request:
			most = max(most, len(asked(m)))
		}
	}
	if most != MaxLengths {
		t.Errorf("requests ask for %d lengths at most", most)
	}
	for _, g := range groups {
		c.led(0, g)
	}
}

// Lengths are kept in order, as requests name them, however far they lie apart: 32 bits do not hold the difference.
func TestRequestsNameLengthsInOrder(t *testing.T) {
	cfg := mixed(3)
	cfg.Longest = 30 * time.Second
	c := newCouncil(t, cfg)
	for _, d := range []time.Duration{8 * time.Second, time.Second, 4 * time.Second, 20 * time.Second} {
		g := protocol.Group(d.String())
		c.tryFor(0, g, d)
		c.led(0, g)
	}
	if !slices.IsSortedFunc(c.members[0].holder.lengths, func(a, b *length) int { return cmp.Compare(a.nominal, b.nominal) }) {
		t.Error("the lengths are not in order")
	}
	c.tick(20 * time.Second)
	c.led(0, "20s")
}

// A holder that names ever more lengths, and claims nothing in them, makes a voter remember no more than one request needs.
func TestPromisesWithoutGroupsAreForgotten(t *testing.T) {
	c := newCouncil(t, mixed(3))
	w := func() *ward { return c.members[1].grantor.wards[0] }
	c.request(1, 0, Request{Seq: 1, More: []Ask{{long, long}}, Claims: []Claim{
		{Group: "g", Tenure: 1, Term: 1}, {Group: "slow", Tenure: 2, Term: 1, Length: long}}})
	for i := range 300 {
		r := Request{Seq: uint64(i + 2)}
		for j := range MaxLengths - 1 {
			r.More = append(r.More, Ask{time.Duration(1 + i*MaxLengths + j), c.cfg.Longest})
		}
		ok, is := c.request(1, 0, r).(*OK)
		if !is || ok.Gen == 0 || len(ok.More) != MaxLengths-1 {
			t.Fatalf("request %d is answered with %+v", r.Seq, ok)
		}
		for _, k := range ok.More {
			if p := w().promise(k.Length); p == nil || p.gen != k.Gen || p.seq != r.Seq {
				t.Fatalf("request %d: the answer has a promise that the voter does not remember", r.Seq)
			}
		}
	}
	if n := len(w().promises); n > maxPromises {
		t.Errorf("%d promises to one holder", n)
	}
	if p := w().promise(0); p == nil || p.gen != 1 || !p.first.is("g") {
		t.Errorf("the promise with a group is %+v", p)
	}
	if p := w().promise(long); p == nil || !p.first.is("slow") {
		t.Errorf("the long promise with a group is %+v", p)
	}
}

// A voter keeps the promises with groups. It makes no more than it can remember, and says so by leaving them out.
func TestVoterMakesNoPromiseBeyondItsBound(t *testing.T) {
	c := newCouncil(t, mixed(3))
	w := func() *ward { return c.members[1].grantor.wards[0] }
	made := 0
	for i := range 4 * MaxLengths {
		length := long + time.Duration(i)*ms
		g := protocol.Group(fmt.Sprint("g", i))
		r := Request{Seq: uint64(i + 1), More: []Ask{{length, length}}, Claims: []Claim{{Group: g, Tenure: uint64(i + 1), Term: 1, Length: length}}}
		r.Claims = append(r.Claims, Claim{Group: "plain", Tenure: 99, Term: 1})
		ok, is := c.request(1, 0, r).(*OK)
		if !is || ok.Gen != 1 {
			t.Fatalf("request %d: %+v", r.Seq, ok)
		}
		if len(ok.Results) != 1+len(ok.More) {
			t.Fatalf("request %d: %d promises beside that of the council, and results %v", r.Seq, len(ok.More), ok.Results)
		}
		made += len(ok.More)
	}
	if n := len(w().promises); n != maxPromises || made != maxPromises-1 {
		t.Errorf("%d promises are remembered, %d were made", n, made)
	}
	for i := range made {
		if s := c.members[1].grantor.Status(c.now, protocol.Group(fmt.Sprint("g", i))); s.Holder != c.ident(0) {
			t.Errorf("g%d was taken from its holder", i)
		}
	}
	c.tick(c.cfg.Rho.WaitAtLeast(2 * long))
	ok, is := c.request(1, 0, Request{Seq: 99, More: []Ask{{2 * long, long}}}).(*OK)
	if !is || len(ok.More) != 1 {
		t.Errorf("after the others have run out: %+v", ok)
	}
}

func TestCheckLength(t *testing.T) {
	cfg := mixed(3)
	for _, l := range []time.Duration{80 * ms, cfg.Lease, cfg.Longest} {
		if err := cfg.CheckLength(l); err != nil {
			t.Errorf("%v: %v", l, err)
		}
	}
	for _, l := range []time.Duration{-1, 30 * ms, 70 * ms, cfg.Longest + 1} {
		if cfg.CheckLength(l) == nil {
			t.Errorf("%v is accepted", l)
		}
	}
}
