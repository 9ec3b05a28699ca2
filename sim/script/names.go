package script

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// member takes a member's name.
func (p *parser) member() protocol.Rank {
	t := p.take("a member")
	r, ok := sim.RankNamed(t.text)
	p.needMembers(t)
	if !ok || int(r) >= p.script.Members {
		hint := ""
		if t.text == "all" || strings.Contains(t.text, ",") {
			hint = " (write several as {a b}, and all as *)"
		}
		p.failAt(t, "%q: no such member; members are %s%s", t.text, p.names(), hint)
	}
	return r
}

// needMembers says that members must be counted before they are named.
func (p *parser) needMembers(t token) {
	if p.script.Members == 0 {
		p.failAt(t, "%q: say how many members there are first, such as: members 3", t.text)
	}
}

// names words which members there are.
func (p *parser) names() string {
	if n := p.script.Members; n > 1 {
		return "a to " + protocol.Rank(n-1).String()
	}
	return "a only"
}

// members takes one member, several in braces, or * for all.
func (p *parser) members() protocol.Set {
	switch {
	case p.peek() == "*":
		p.needMembers(p.take(""))
		return protocol.Everyone(p.script.Members)
	case p.accept("{"):
		var s protocol.Set
		for !p.accept("}") {
			if p.peek() == "" {
				p.fail("the line ends here: } is missing")
			}
			s.Add(p.member())
		}
		return s
	}
	return protocol.NewSet(p.member())
}

// who takes one or several members, or the word leader: the member that leads when the statement takes effect.
func (p *parser) who() []protocol.Rank {
	if p.accept(theLeader) {
		return []protocol.Rank{sim.TheLeader}
	}
	return slices.Collect(p.some().All())
}

// linkEnd takes the members at one end of links; Nobody stands for all.
func (p *parser) linkEnd() []protocol.Rank {
	if p.peek() == "*" {
		p.needMembers(p.take(""))
		return []protocol.Rank{protocol.Nobody}
	}
	return p.who()
}

// one takes one member, or the word leader.
func (p *parser) one() protocol.Rank {
	if p.accept(theLeader) {
		return sim.TheLeader
	}
	return p.member()
}

// theLeader is how scripts call the leader.
const theLeader = "leader"

// some takes members, at least one.
func (p *parser) some() protocol.Set {
	at := token{col: p.col()}
	if next := p.peek(); next == "" || mark(next) > 0 && next != "{" {
		p.wrong("a member, a set such as {a b}, or *")
	}
	s := p.members()
	if s.Empty() {
		p.failAt(at, "{}: at least one member is needed here")
	}
	return s
}

// links takes a->b, a<->b, {a b}<->{c d}, *->c; "a b" is the same as "a<->b", and a member alone all its links.
func (p *parser) links() Links {
	l := Links{From: p.linkEnd()}
	switch next := p.peek(); {
	case p.accept("->"):
		l.To = p.linkEnd()
	case p.accept("<->"):
		l.To, l.Both = p.linkEnd(), true
	case next == "{" || next == "*" || next == theLeader || p.isMember(next):
		l.To, l.Both = p.linkEnd(), true
	default:
		l.To, l.Both = []protocol.Rank{protocol.Nobody}, true
	}
	return l
}

func (p *parser) isMember(name string) bool {
	r, ok := sim.RankNamed(name)
	return ok && int(r) < p.script.Members
}

// Links are the ways from some members to others. Nobody stands for all members, TheLeader for the leader.
type Links struct {
	From, To []protocol.Rank
	Both     bool // and back
}

// covers says whether the way from a to b is among them.
func (l *Links) covers(a, b protocol.Rank) bool {
	return at(l.From, a) && at(l.To, b) || l.Both && at(l.From, b) && at(l.To, a)
}

// at says whether r is among the members at one end of links.
func at(end []protocol.Rank, r protocol.Rank) bool {
	return slices.Contains(end, r) || slices.Contains(end, protocol.Nobody)
}

// pairs lists the ways, each once, those from a member to itself excepted. Nobody stands for all members.
func (l *Links) pairs() [][2]protocol.Rank {
	var all [][2]protocol.Rank
	add := func(a, b protocol.Rank) {
		pair := [2]protocol.Rank{a, b}
		if (a != b || a == protocol.Nobody) && !slices.Contains(all, pair) {
			all = append(all, pair)
		}
	}
	for _, a := range l.From {
		for _, b := range l.To {
			add(a, b)
			if l.Both {
				add(b, a)
			}
		}
	}
	return all
}

// plain says that no end of the links is the leader, which changes.
func (p *parser) plain(at token, l Links) Links {
	if slices.Contains(l.From, sim.TheLeader) || slices.Contains(l.To, sim.TheLeader) {
		p.failAt(at, "name the member: the leader may be another one when this takes effect")
	}
	return l
}

// duration takes a length of time, which must not be negative.
func (p *parser) duration(what string) time.Duration {
	t := p.take(what)
	return p.parseDuration(t, t.text)
}

func (p *parser) parseDuration(t token, text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		p.failAt(t, "%q: expected a length of time, such as 1.5s, 200ms or 50us", text)
	}
	if d < 0 {
		p.failAt(t, "%q: a length of time must not be negative", text)
	}
	return d
}

// positive takes a length of time above zero.
func (p *parser) positive(what string) time.Duration {
	t := token{p.peek(), p.col()}
	d := p.duration(what)
	if d == 0 {
		p.failAt(t, "%q: must be more than zero", t.text)
	}
	return d
}

// delay takes 5ms or 1ms..5ms, and perhaps: tail 1% of 20ms.
func (p *parser) delay(what string) sim.Delay {
	t := p.take(what)
	lo, hi, both := strings.Cut(t.text, "..")
	d := sim.Delay{Min: p.parseDuration(t, lo)}
	d.Max = d.Min
	if both {
		d.Max = p.parseDuration(t, hi)
	}
	if d.Max < d.Min {
		p.failAt(t, "%q: the second length must not be below the first", t.text)
	}
	if p.accept("tail") {
		d.Tail = p.odds()
		p.expect("of")
		d.TailStep = p.positive("a length of time")
	}
	return d
}

// odds takes a percentage.
func (p *parser) odds() sim.Odds {
	t := p.take("a percentage")
	number, ok := strings.CutSuffix(t.text, "%")
	f, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(f >= 0 && f <= 100) {
		p.failAt(t, "%q: expected a percentage from 0%% to 100%%", t.text)
	}
	return sim.Odds(math.Round(f * float64(sim.Certain) / 100))
}

// rate takes how much faster than real time a clock runs: +200ppm, -50ppb, 0, or "stopped".
func (p *parser) rate() int64 {
	t := p.take("a rate")
	number, unit := t.text, int64(1)
	switch {
	case strings.HasSuffix(number, "ppm"):
		number, unit = strings.TrimSuffix(number, "ppm"), 1000
	case strings.HasSuffix(number, "ppb"):
		number = strings.TrimSuffix(number, "ppb")
	case number != "0":
		number = "?"
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < -billion/unit || n > 4*billion/unit {
		p.failAt(t, "%q: expected a rate between -1000000ppm and +4000000ppm, such as +200ppm or -50ppb", t.text)
	}
	return n * unit
}

const billion = 1_000_000_000

// number takes a whole number between lo and hi.
func (p *parser) number(what string, lo, hi uint64) uint64 {
	t := p.take(what)
	n, err := strconv.ParseUint(t.text, 10, 64)
	if err != nil || n < lo || n > hi {
		p.failAt(t, "%q: expected %s, from %d to %d", t.text, what, lo, hi)
	}
	return n
}
