package check

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/sim"
)

// The tests of the checkers are traces made by hand, of five members a to e, one record in a line:
//
//	time node[/inc] event [group] key=value ...
//
// Times are durations of real time; until= and at= are on the node's clock. A line "clock a 1000ppm" gives a clock its rate.
// Events and keys are those of the trace; qt= and stamp= are as stamps are written.

// parsedTrace is a trace and the ground truth to it.
type parsedTrace struct {
	now     sim.Real
	clocks  []*sim.Clock
	down    protocol.Set
	incs    []protocol.Inc
	records []sim.Record
}

func (t *parsedTrace) Now() sim.Real                         { return t.now }
func (t *parsedTrace) Members() int                          { return len(t.clocks) }
func (t *parsedTrace) Clock(r protocol.Rank) *sim.Clock      { return t.clocks[r] }
func (t *parsedTrace) Up(r protocol.Rank) bool               { return !t.down.Has(r) }
func (t *parsedTrace) Frozen(protocol.Rank) bool             { return false }
func (t *parsedTrace) Cut(protocol.Rank, protocol.Rank) bool { return false }
func (t *parsedTrace) Ident(r protocol.Rank) protocol.Ident {
	return protocol.Ident{Rank: r, Inc: t.incs[r]}
}

// parse reads a trace.
func parse(t *testing.T, text string) *parsedTrace {
	t.Helper()
	p := &parsedTrace{}
	for range 5 {
		p.clocks, p.incs = append(p.clocks, sim.NewClock(sim.ClockSpec{})), append(p.incs, 1)
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "#":
		case f[0] == "clock":
			ppm, err := strconv.Atoi(strings.TrimSuffix(f[2], "ppm"))
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			p.clocks[f[1][0]-'a'] = sim.NewClock(sim.ClockSpec{Rate: int64(ppm) * 1000})
		default:
			p.records = append(p.records, record(t, f))
		}
	}
	return p
}

func record(t *testing.T, f []string) sim.Record {
	t.Helper()
	r := sim.Record{T: sim.Real(duration(t, f[0])), Node: protocol.Nobody}
	if f[1] != "-" {
		id := ident(t, f[1])
		r.Node, r.Inc = id.Rank, id.Inc
	}
	r.Ev, r.Dom = protocol.Ev(f[2]), protocol.Quorum
	for _, arg := range f[3:] {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			r.Group = protocol.Group(arg)
			continue
		}
		set(t, &r, key, value)
	}
	return r
}

func set(t *testing.T, r *sim.Record, key, value string) {
	t.Helper()
	number := func() uint64 {
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var err error
	switch key {
	case "to":
		r.Peer = ident(t, value)
	case "seq", "horizon", "bore":
		r.Seq = number()
	case "gen":
		r.Gen = number()
	case "term", "token":
		r.Term = number()
	case "tenure":
		r.Tenure = number()
	case "until":
		r.Until = protocol.Time(duration(t, value))
	case "at":
		r.At = protocol.Time(duration(t, value))
	case "why":
		r.Why = value
	case "members":
		for _, c := range value {
			r.Members.Add(protocol.Rank(c - 'a'))
		}
	case "qt":
		var q stamp.Quorum
		err = q.UnmarshalText([]byte(value))
		r.Detail = q
	case "says":
		r.Detail = value
	case "value": // TOKEN.VERSION:TEXT, of a view
		r.Detail = viewOf(t, r, value)
	case "stamp":
		r.Detail, err = stamp.Parse(value)
	default:
		t.Fatalf("key %q", key)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// viewOf returns the view of a record that has said who leads, with a value; "none" for no value.
func viewOf(t *testing.T, r *sim.Record, value string) *protocol.View {
	t.Helper()
	v := &protocol.View{Group: r.Group, Domain: protocol.Quorum, Leader: r.Peer, Term: r.Term, Tenure: r.Tenure}
	if value == "none" {
		return v
	}
	v.Value = new(protocol.Value)
	if _, err := fmt.Sscanf(value, "%d.%d:%s", &v.Value.Token, &v.Value.Version, &v.Value.Text); err != nil {
		t.Fatalf("%q: %v", value, err)
	}
	return v
}

func ident(t *testing.T, s string) protocol.Ident {
	t.Helper()
	name, inc, ok := strings.Cut(s, "/")
	if !ok {
		inc = "1"
	}
	n, err := strconv.Atoi(inc)
	if err != nil {
		t.Fatal(err)
	}
	return protocol.Ident{Rank: protocol.Rank(name[0] - 'a'), Inc: protocol.Inc(n)}
}

func duration(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// play lets a checker see the trace, and returns what it finds.
func (p *parsedTrace) play(c Checker) error {
	for i := range p.records {
		r := p.records[i]
		p.now = max(p.now, r.T)
		switch r.Ev {
		case sim.EvCrash, sim.EvClose:
			p.down.Add(r.Node)
		case sim.EvRestart:
			p.down.Remove(r.Node)
			p.incs[r.Node] = r.Inc
		}
		if err := c.Observe(&r); err != nil {
			return err
		}
	}
	return c.Finish()
}

// A traceCase is a trace and what its checker must report: nothing, or a violation with these words.
type traceCase struct{ name, trace, says string }

// checkCases feeds traces to a checker.
func checkCases(t *testing.T, make func(Truth) Checker, cases []traceCase) {
	t.Helper()
	for _, s := range cases {
		t.Run(s.name, func(t *testing.T) {
			p := parse(t, s.trace)
			c := make(p)
			err := p.play(c)
			var v *Violation
			switch {
			case s.says == "" && err != nil:
				t.Errorf("flagged: %v", err)
			case s.says == "":
			case !errors.As(err, &v):
				t.Errorf("not flagged: %v", err)
			case v.Name != c.Name() || !strings.Contains(v.Text, s.says):
				t.Errorf("flagged as %v, want %s with %q", err, c.Name(), s.says)
			}
		})
	}
}
