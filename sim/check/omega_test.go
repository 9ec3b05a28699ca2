package check_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
)

// fixedTruth is a ground truth of three members in which only incarnations and the time are of interest.
type fixedTruth struct {
	now  sim.Real
	incs [3]protocol.Inc
}

func (s *fixedTruth) Now() sim.Real                  { return s.now }
func (s *fixedTruth) Members() int                   { return 3 }
func (s *fixedTruth) Clock(protocol.Rank) *sim.Clock { return nil }
func (s *fixedTruth) Up(protocol.Rank) bool          { return true }
func (s *fixedTruth) Frozen(protocol.Rank) bool      { return false }
func (s *fixedTruth) Cut(_, _ protocol.Rank) bool    { return false }
func (s *fixedTruth) Ident(r protocol.Rank) protocol.Ident {
	return protocol.Ident{Rank: r, Inc: s.incs[r]}
}
func at(t time.Duration, r protocol.Rank) sim.Record {
	return sim.Record{T: sim.Real(t), Node: r, Inc: 1}
}
func ident(r protocol.Rank, i protocol.Inc) protocol.Ident { return protocol.Ident{Rank: r, Inc: i} }

func weak(t time.Duration, r protocol.Rank, leader protocol.Ident) sim.Record {
	rec := at(t, r)
	rec.Fact = protocol.Fact{Ev: protocol.EvWeak, Peer: leader}
	return rec
}

func liveness(t time.Duration, core ...protocol.Rank) sim.Record {
	rec := at(t, protocol.Nobody)
	rec.Fact = protocol.Fact{Ev: sim.EvPhase, Why: sim.Liveness, Members: protocol.NewSet(core...)}
	return rec
}

// judge feeds records to S-OM with a settle time of one second, and ends the run at the given time.
func judge(end time.Duration, records ...sim.Record) error {
	s := &fixedTruth{incs: [3]protocol.Inc{1, 1, 1}}
	o := check.NewOmega(s, time.Second)
	for i := range records {
		s.now = records[i].T
		if err := o.Observe(&records[i]); err != nil {
			return err
		}
	}
	s.now = sim.Real(end)
	return o.Finish()
}

func TestOmegaHoldsWhenTheCoreAgreesInTime(t *testing.T) {
	a, b := ident(0, 1), ident(1, 1)
	for name, err := range map[string]error{
		"all trust a":                 judge(5*time.Second, weak(0, 0, a), weak(0, 1, a), weak(0, 2, a), liveness(1)),
		"they agree within the time":  judge(5*time.Second, weak(0, 0, a), weak(0, 1, b), liveness(1, 0, 1, 2), weak(2, 1, a), weak(3, 2, a)),
		"one outside changes":         judge(5*time.Second, weak(0, 0, a), weak(0, 1, a), liveness(1, 0, 1), weak(3*time.Second, 2, b)),
		"the same again is no change": judge(5*time.Second, weak(0, 0, a), liveness(1, 0), weak(3*time.Second, 0, a)),
		"no liveness phase":           judge(5*time.Second, weak(0, 0, b), weak(0, 1, a)),
		"a restart clears what was":   judge(5*time.Second, weak(0, 1, b), weak(0, 0, a), liveness(1, 0), restart(2, 1)),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func restart(t time.Duration, r protocol.Rank) sim.Record {
	rec := at(t, r)
	rec.Fact = protocol.Fact{Ev: sim.EvRestart}
	return rec
}

func TestOmegaFailsByName(t *testing.T) {
	a, b, late := ident(0, 1), ident(1, 1), 3*time.Second
	for want, err := range map[string]error{
		"b trusts b/1, but a trusts a/1":         judge(5*time.Second, weak(0, 0, a), weak(0, 1, b), liveness(1, 0, 1)),
		"a trusts nobody, who is not of the":     judge(5*time.Second, weak(0, 0, protocol.NoIdent), liveness(1, 0)),
		"b trusts c/1, who is not of the healed": judge(5*time.Second, weak(0, 1, ident(2, 1)), liveness(1, 1)),
		"a trusts a/7, who is a/1 now":           judge(5*time.Second, weak(0, 0, ident(0, 7)), liveness(1, 0)),
		"a trusts b/1 instead of a/1, 3s after":  judge(5*time.Second, weak(0, 0, a), weak(0, 1, a), liveness(0, 0, 1), weak(late, 0, b)),
		"a trusts nobody instead of a/1":         judge(5*time.Second, weak(0, 0, a), liveness(0, 0), weak(late, 0, protocol.NoIdent)),
		"c trusts nobody, who is not of":         judge(5*time.Second, weak(0, 2, a), weak(0, 0, a), liveness(1, 0, 2), restart(2, 2)),
	} {
		var v *check.Violation
		if !errors.As(err, &v) || v.Name != "S-OM" || !strings.Contains(err.Error(), "S-OM violated at") || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want a violation of S-OM that says %q", err, want)
		}
	}
}

func TestOmegaDoesNotPassARunThatWasTooShort(t *testing.T) {
	err := judge(1500*time.Millisecond, weak(0, 0, ident(0, 1)), liveness(time.Second, 0))
	if err == nil || !strings.Contains(err.Error(), "S-OM cannot be judged") {
		t.Errorf("got %v", err)
	}
}
