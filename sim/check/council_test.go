package check

import (
	"testing"

	"github.com/regentproject/regent/sim"
)

// together is the checkers of a council that changes as one: they share what they know.
type together []Checker

func (together) Name() string { return "C" }

// Observe returns the first violation.
func (all together) Observe(r *sim.Record) error {
	for _, c := range all {
		if err := c.Observe(r); err != nil {
			return Violatedf(all.Name(), r.T, "%v", err)
		}
	}
	return nil
}

// Finish returns the first violation.
func (all together) Finish() error { return nil }

func TestCouncil(t *testing.T) {
	checkCases(t, func(tr Truth) Checker {
		b, h := newTimedLedger(tr), newHistory(tr)
		return together{&OneConfig{history: h}, newMonotone(h, tr.Members()),
			&Settling{cursor{timedLedger: b}, h}, &Carried{cursor{timedLedger: b}, h}, &Leaves{gone: make([]bool, tr.Members())}}
	}, []traceCase{
		{"a step", `
			1s a chosen seq=1 gen=7 members=abc
			1s a adopt seq=1 gen=7
			1s b adopt seq=1 gen=7
			2s b settle seq=1`, ""},
		{"two configurations of one number", `
			1s a chosen seq=1 gen=7 members=abc
			1s b adopt seq=1 gen=8`, "C-ONE"},
		{"a member goes back", `
			1s a adopt seq=2 gen=7
			2s a restart
			2s a adopt seq=1 gen=6 why=recovered`, "C-MONO"},
		{"a member votes in an earlier configuration", `
			1s a adopt seq=2 gen=7
			2s a vote seq=2 gen=7`, "C-MONO"},
		{"a member without a record votes again for what it had adopted", `
			1s a adopt seq=2 gen=7
			2s a restart
			3s a vote seq=2 gen=7 why=lost`, ""},
		{"a member without a record votes for another one", `
			1s a adopt seq=2 gen=7
			2s a restart
			3s a vote seq=2 gen=8 why=lost`, "C-MONO"},
		{"a member without a record votes for an earlier one", `
			1s a adopt seq=1 gen=6
			2s a adopt seq=2 gen=7
			3s a restart
			4s a vote seq=1 gen=6 why=lost`, "C-MONO"},
		{"an old copy that is found out", `
			1s a adopt seq=2 gen=7
			2s a restart
			2s a adopt seq=1 gen=6 why=record
			3s a adopt seq=2 gen=7 why=recovered`, ""},
		{"an old copy that is found out and votes for what others have accepted", `
			1s a adopt seq=2 gen=7
			2s a restart
			2s a adopt seq=1 gen=6 why=record
			3s a vote seq=3 gen=8 why=lost`, ""},
		{"an old copy that promises", `
			1s a adopt seq=2 gen=7
			2s a restart
			2s a adopt seq=1 gen=6 why=record
			3s a promise to=b gen=1 seq=1 until=9s`, "C-MONO"},
		{"a lease that two steps left behind", `
			1s a lease g tenure=1 token=5 until=9s horizon=1
			2s b chosen seq=1 gen=7 members=abc
			3s b chosen seq=2 gen=8 members=abc`, "C-SETTLE"},
		{"a lease that is extended by such a configuration", `
			1s a lease g tenure=1 token=5 until=2s horizon=1
			2s b chosen seq=1 gen=7 members=abc
			3s b chosen seq=2 gen=8 members=abc
			4s a horizon horizon=1 until=9s`, "C-SETTLE"},
		{"a floor below a token", `
			1s a lease g tenure=1 token=5 until=2s horizon=1
			2s b chosen seq=1 gen=7 members=abc
			3s b settle seq=1 term=4`, "C-CARRY"},
		{"a floor at a token", `
			1s a lease g tenure=1 token=5 until=2s horizon=1
			2s b chosen seq=1 gen=7 members=abc
			3s b settle seq=1 term=5`, ""},
		{"a removed member promises", `
			1s a out seq=3 gen=7
			2s a promise to=b gen=1 seq=1 until=9s`, "C-OUT"},
	})
}
