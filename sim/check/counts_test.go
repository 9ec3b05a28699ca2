package check_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/counter"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
)

func count(t time.Duration, r, of protocol.Rank, to uint64, table string) sim.Record {
	rec := at(t, r)
	rec.Fact = protocol.Fact{Ev: counter.EvCount, Peer: ident(of, 1), Seq: to, Why: table}
	return rec
}

// tally feeds records to T-CNT with a settle time of two seconds, and ends the run at the given time.
func tally(end time.Duration, tables []string, records ...sim.Record) error {
	s := &fixedTruth{incs: [3]protocol.Inc{1, 1, 1}}
	c := check.NewCounts(s, 2*time.Second, tables...)
	for i := range records {
		s.now = records[i].T
		if err := c.Observe(&records[i]); err != nil {
			return err
		}
	}
	s.now = sim.Real(end)
	return c.Finish()
}

func TestCountsHoldWhereTheyShould(t *testing.T) {
	const s = time.Second
	x, xy := []string{"x"}, []string{"x", "y"}
	a := ident(0, 1)
	for name, err := range map[string]error{
		"counters grow":                 tally(s, x, count(0, 0, 1, 1, "x"), count(1, 0, 1, 5, "x"), count(2, 1, 1, 2, "x")),
		"a restart begins anew":         tally(s, x, count(0, 0, 1, 5, "x"), restart(1, 0), count(2, 0, 1, 1, "x")),
		"tables are told apart":         tally(s, xy, count(0, 0, 1, 5, "x"), count(1, 0, 1, 1, "y")),
		"the leader grows before":       tally(4*s, x, liveness(0, 0, 1, 2), weak(1, 0, a), count(s, 1, 0, 9, "x"), weak(3*s, 1, a)),
		"another grows":                 tally(4*s, x, liveness(0, 0, 1, 2), weak(1, 0, a), count(3*s, 1, 2, 9, "x")),
		"the lesser one stands still":   tally(4*s, xy, liveness(0, 0, 1, 2), weak(1, 0, a), count(3*s, 1, 0, 9, "x")),
		"the dead one grows everywhere": tally(4*s, x, liveness(0, 0, 1), weak(1, 0, a), count(3*s, 0, 2, 9, "x"), count(3*s, 1, 2, 9, "x")),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCountsFailByName(t *testing.T) {
	const s = time.Second
	x, xy := []string{"x"}, []string{"x", "y"}
	a := ident(0, 1)
	for want, err := range map[string]error{
		"a lets the counter of b in x go from 5 to 4": tally(s, x, count(0, 0, 1, 5, "x"), count(1, 0, 1, 4, "x")),
		"a lets the counter of b in x go from 5 to 5": tally(s, x, count(0, 0, 1, 5, "x"), count(1, 0, 1, 5, "x")),
		`a counts in a table "z"`:                     tally(s, x, count(0, 0, 1, 5, "z")),
		"b lets the counter of the leader a grow to 9, 3s after": tally(4*s, x, liveness(0, 0, 1, 2), weak(1, 0, a),
			weak(3*s-1, 1, a), count(3*s, 1, 0, 9, "x")),
		"b lets the counter of the leader a grow to 3": tally(4*s, xy, liveness(0, 0, 1, 2), weak(1, 0, a),
			count(3*s, 1, 0, 9, "x"), count(3*s, 1, 0, 3, "y")),
		"b counts 7 of c in x, who is down": tally(4*s, x, liveness(0, 0, 1), count(s/2, 1, 2, 7, "x"), count(3*s, 0, 2, 9, "x")),
		"a counts 0 of c in y, who is down": tally(4*s, xy, liveness(0, 0, 1), count(3*s, 0, 2, 9, "x")),
	} {
		var v *check.Violation
		if !errors.As(err, &v) || v.Name != "T-CNT" || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want a violation of T-CNT that says %q", err, want)
		}
	}
}

func TestEventualLeadershipFailsUnderItsOwnName(t *testing.T) {
	s := &fixedTruth{incs: [3]protocol.Inc{1, 1, 1}}
	e := check.NewEventual(s, time.Second)
	for _, r := range []sim.Record{weak(0, 0, ident(0, 1)), weak(0, 1, ident(1, 1)), liveness(1, 0, 1)} {
		if err := e.Observe(&r); err != nil {
			t.Fatal(err)
		}
	}
	s.now = sim.Real(3 * time.Second)
	var v *check.Violation
	if err := e.Finish(); !errors.As(err, &v) || v.Name != "T-EL" || !strings.HasPrefix(err.Error(), "T-EL violated") {
		t.Errorf("got %v, want a violation of T-EL", err)
	}
}
