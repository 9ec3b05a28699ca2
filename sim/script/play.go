package script

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
	"github.com/regentproject/regent/sim/ledger"
	"github.com/regentproject/regent/sim/suite"
)

// Options are how a script is played.
type Options struct {
	// Seed replaces the script's, if it is not nil.
	Seed *uint64
	// Protocol replaces the one that the script names, if it is not nil: one that is broken on purpose.
	Protocol *suite.Protocol
	// Observers see the trace.
	Observers []sim.Observer
	// Each, if not nil, is called with every statement that was played, with what it printed.
	Each func(at sim.Real, s *Step, printed []string)
}

// A Result is what came of a script.
type Result struct {
	// Failures are what was expected and did not happen, in the order of the script.
	Failures []Failure
	// Violation is what a checker found, or the breach of the contract by a machine, unless it was expected. At is the
	// statement that led to it; zero if only the end of the script did.
	Violation error
	At        Pos
	// Printed is what each paragraph printed.
	Printed [][]string
	// Checks counts expectations that were looked at, expected output included.
	Checks int
	Seed   uint64
	End    sim.Real
	Stats  sim.Stats
}

// A Failure is an expectation that was not met.
type Failure struct {
	Pos
	Msg string
}

// OK says that everything went as expected.
func (r *Result) OK() bool { return len(r.Failures) == 0 && r.Violation == nil }

// Violated names the invariant that was violated: "contract" if a machine broke the contract, empty if none was.
func (r *Result) Violated() string { return violated(r.Violation) }

func violated(err error) string {
	var v *check.Violation
	switch {
	case err == nil:
		return ""
	case errors.As(err, &v):
		return v.Name
	}
	return "contract"
}

// player is a script being played.
type player struct {
	script      *Script
	protocol    *suite.Protocol
	world       *sim.World
	checkers    []check.Checker
	interceptor *interceptor
	observed    []sim.Observer
	result      *Result

	stated   map[statement]bool // in the last run, and between it and the run before
	stale    bool               // the last run is over
	begun    []begun
	newest   *sim.Fault // the newest fault, with the leader's name
	started  bool
	printed  []string
	late     []error // of statements that were postponed
	watching watch
	// configurations are the digests of those that were shown.
	configurations []uint64
	ledger         *ledger.Ledger // what members have stated about their leases
	violation      error          // not yet expected
	over           bool           // a violation was expected and came
}

// A statement is a fact of a member, by its Seq; anySeq stands for whichever.
type statement struct {
	node protocol.Rank
	ev   protocol.Ev
	seq  uint64
}

const anySeq = math.MaxUint64

// begun is a fault that the script began.
type begun struct {
	id    uint64
	fault sim.Fault
}

// Play runs a script to its end. It returns an error only if it cannot be run at all.
func Play(s *Script, o Options) (*Result, error) {
	p := &player{script: s, protocol: o.Protocol, observed: o.Observers, result: &Result{Seed: s.Seed},
		stated: make(map[statement]bool), ledger: ledger.New(s.Members)}
	if o.Seed != nil {
		p.result.Seed = *o.Seed
	}
	if err := p.newWorld(); err != nil {
		return nil, err
	}
	p.world.Phase(sim.Safety, protocol.Everyone(s.Members))
	for i := range s.Paragraphs {
		p.paragraph(&s.Paragraphs[i], o.Each)
	}
	p.finish()
	p.result.End, p.result.Stats = p.world.Now(), p.world.Stats()
	return p.result, nil
}

// newWorld makes the world that the settings describe.
func (p *player) newWorld() error {
	if p.protocol == nil {
		found, err := suite.Lookup(p.script.Protocol)
		if err != nil {
			return err
		}
		p.protocol = found
	}
	tuned, err := p.protocol.With(p.script.Options...)
	if err != nil {
		return err
	}
	p.protocol = tuned
	if least := p.protocol.MinMembers; p.script.Members < least {
		return fmt.Errorf("%s: %d members: %s needs at least %d", p.script.Name, p.script.Members, p.protocol.Name, least)
	}
	p.interceptor = &interceptor{player: p, sent: make(map[route]bool), given: make(map[route]bool)}
	c := sim.Config{
		Members:   p.script.Members,
		Seed:      p.result.Seed,
		Spawn:     p.protocol.Spawn,
		Intercept: p.interceptor.intercept,
		Groups:    p.protocol.Groups,
		Link:      sim.Link{Delay: sim.Between(time.Millisecond, 5*time.Millisecond)},
		Program:   sim.ProgramSpec{Act: sim.Between(time.Millisecond, 20*time.Millisecond)},
		Late:      p.protocol.Timely,
		Messages:  true,
		Words:     true,
	}
	for _, configure := range p.script.config {
		configure(&c)
	}
	if p.protocol.Configure != nil {
		p.protocol.Configure(&c)
	}
	if p.script.varied && p.protocol.Vary != nil {
		p.protocol.Vary(&c)
	}
	world, err := sim.New(c)
	if err != nil {
		return err
	}
	p.world = world
	p.checkers = p.protocol.Checkers(p.world)
	p.world.Observe(p)
	return nil
}

// Observe shows a record to everybody who looks at the trace.
func (p *player) Observe(r *sim.Record) error {
	switch r.Ev {
	case sim.EvDeliver:
		p.interceptor.given[route{r.Why, r.Peer.Rank, r.Node}] = true
	case sim.EvFault:
		if f, ok := r.Detail.(sim.Fault); ok {
			p.newest = &f
		}
	}
	p.ledger.Take(r)
	if r.Node != protocol.Nobody {
		p.stated[statement{r.Node, r.Ev, r.Seq}], p.stated[statement{r.Node, r.Ev, anySeq}] = true, true
	}
	p.see(r)
	var first error
	for _, c := range p.checkers {
		if err := c.Observe(r); err != nil && first == nil {
			first = err
		}
	}
	for _, o := range p.observed {
		if err := o.Observe(r); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// paragraph plays statements and compares what they print.
func (p *player) paragraph(para *Paragraph, each func(sim.Real, *Step, []string)) {
	all := []string{}
	for i := range para.Steps {
		step := &para.Steps[i]
		p.printed = nil
		if p.stuck(step) {
			break
		}
		p.start(step)
		p.forget(step.do)
		if err := step.do.play(p); err != nil {
			p.fail(step.Pos, err)
		}
		all = append(all, p.printed...)
		if each != nil {
			each(p.world.Now(), step, p.printed)
		}
	}
	p.result.Printed = append(p.result.Printed, all)
	if para.Checked && p.violation == nil {
		p.result.Checks++
		if !slices.Equal(all, para.Want) {
			p.result.Failures = append(p.result.Failures, Failure{Pos{para.first, 1}, diff(para.Want, all)})
		}
	}
}

// forget forgets what happened in a run once something else is done: conditions are about the present run and what led
// up to it.
func (p *player) forget(do action) {
	switch do.(type) {
	case *expectation, *expectViolation, show, *watch:
		return
	}
	if p.stale {
		clear(p.stated)
		clear(p.interceptor.sent)
		clear(p.interceptor.given)
	}
	switch do.(type) {
	case *run, *settling:
		p.stale = true
	default:
		p.stale = false
	}
}

// start lets members start that start at once, unless the statement can do without: what is said of links, clocks and
// messages before anything else is true from the beginning.
func (p *player) start(s *Step) {
	if p.started || preparatory(s.do) {
		return
	}
	p.started = true
	if err := p.world.Run(0); err != nil {
		p.fail(s.Pos, err)
	}
}

func preparatory(do action) bool {
	switch do := do.(type) {
	case *later, *addRule, *watch:
		return true
	case faults:
		k := do[0].Kind
		return onLinks(k) || k == sim.Rate || k == sim.Jump || k == sim.SlowDisk
	}
	return false
}

// stuck says whether the world has come to its end, so that the statement cannot be played.
func (p *player) stuck(s *Step) bool {
	if p.violation != nil {
		_, expected := s.do.(*expectViolation)
		return !expected
	}
	if p.over {
		p.fail(s.Pos, errors.New("nothing can happen after a violation: end the script with it"))
	}
	return p.over
}

// fail notes an error of a statement: a violation, or an expectation that was not met.
func (p *player) fail(at Pos, err error) {
	var unmet *unmet
	switch {
	case errors.As(err, &unmet):
		p.result.Failures = append(p.result.Failures, Failure{at, unmet.msg})
	case p.over:
		p.result.Failures = append(p.result.Failures, Failure{at, err.Error()})
	default:
		p.violation, p.result.At = err, at
	}
}

// unmet is an expectation that was not met; every other error of an action ends the run.
type unmet struct{ msg string }

func (e *unmet) Error() string { return e.msg }

func unmetf(format string, args ...any) error { return &unmet{fmt.Sprintf(format, args...)} }

// finish asks the checkers about the end, and keeps a violation that nobody expected.
func (p *player) finish() {
	for _, c := range p.checkers {
		if p.violation == nil && !p.over {
			p.violation = c.Finish()
		}
	}
	p.result.Violation = p.violation
	if p.violation == nil {
		p.result.At = Pos{}
	}
}

// print adds a line to what the statement prints.
func (p *player) print(format string, args ...any) {
	p.printed = append(p.printed, fmt.Sprintf(format, args...))
}

// leads says whether a member leads by its own view and, where there is a lease, by its clock.
func (p *player) leads(r protocol.Rank, s scope) bool {
	v := view(p.world, r, s)
	if v == nil || v.Leader.Rank != r {
		return false
	}
	until := v.Until
	if end, ok := p.ledger.End(r, v.Domain, v.Group, v.Horizon); ok {
		until = min(until, end)
	}
	return p.world.Clock(r).At(p.world.Now()) < until
}

// diff shows what was expected and what came instead.
func diff(want, got []string) string {
	var b strings.Builder
	b.WriteString("the output is not as expected:")
	for _, d := range diffLines(want, got) {
		b.WriteString("\n" + d)
	}
	return b.String()
}

// diffLines marks lines that are missing with - and lines that are new with +.
func diffLines(want, got []string) []string {
	// longest[i][j] is the length of the longest common subsequence of want[i:] and got[j:].
	longest := make([][]int, len(want)+1)
	for i := range longest {
		longest[i] = make([]int, len(got)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(got) - 1; j >= 0; j-- {
			if want[i] == got[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(want) || j < len(got) {
		switch {
		case i < len(want) && j < len(got) && want[i] == got[j]:
			out = append(out, "    "+want[i])
			i, j = i+1, j+1
		case j == len(got) || i < len(want) && longest[i+1][j] >= longest[i][j+1]:
			out = append(out, "  - "+want[i])
			i++
		default:
			out = append(out, "  + "+got[j])
			j++
		}
	}
	return out
}

// Rewrite returns the script's text with what it printed in the place of what it expected.
func (s *Script) Rewrite(r *Result) []byte {
	var out []string
	at := 0
	for i, para := range s.Paragraphs {
		if !para.Checked || i >= len(r.Printed) {
			continue
		}
		out = append(out, s.lines[at:para.first]...)
		out = append(out, r.Printed[i]...)
		at = para.end
	}
	out = append(out, s.lines[at:]...)
	return []byte(strings.Join(out, "\n") + "\n")
}

// Err returns everything that did not go as expected as one error, nil if nothing did. name is the script's.
func (r *Result) Err(name string) error {
	var all []error
	for _, f := range r.Failures {
		all = append(all, &Error{name, f.Pos, f.Msg})
	}
	if r.Violation != nil {
		err := r.Violation
		if r.At != (Pos{}) {
			err = &Error{name, r.At, err.Error()}
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}
