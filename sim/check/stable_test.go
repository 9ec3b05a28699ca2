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

const delta = 10 * time.Millisecond

func began(t time.Duration, r protocol.Rank) sim.Record {
	rec := at(t, r)
	rec.Ev = sim.EvStart
	return rec
}

func crashed(t time.Duration, r protocol.Rank) sim.Record {
	rec := at(t, r)
	rec.Ev = sim.EvCrash
	return rec
}

func sent(t time.Duration, seq uint64, from, to protocol.Rank) sim.Record {
	rec := at(t, from)
	rec.Fact = protocol.Fact{Ev: sim.EvSend, Peer: ident(to, 1), Seq: seq, Why: "x.Y"}
	return rec
}

func came(t time.Duration, seq uint64, from, to protocol.Rank, sentAt, bound time.Duration) sim.Record {
	rec := at(t, to)
	rec.Fact = protocol.Fact{Ev: sim.EvDeliver, Peer: ident(from, 1), Seq: seq, Why: "x.Y",
		Detail: sim.Delivery{Sent: sim.Real(sentAt), Bound: int64(bound)}}
	return rec
}

func lost(t time.Duration, seq uint64, from, to protocol.Rank, why string) sim.Record {
	rec := at(t, from)
	rec.Fact = protocol.Fact{Ev: sim.EvDrop, Peer: ident(to, 1), Seq: seq, Why: "x.Y: " + why}
	return rec
}

func fault(t time.Duration, ev protocol.Ev, f sim.Fault) sim.Record {
	rec := at(t, protocol.Nobody)
	rec.Ev, rec.Detail = ev, f
	return rec
}

func under(t time.Duration, r protocol.Rank, leader protocol.Ident, number uint64) sim.Record {
	rec := weak(t, r, leader)
	rec.Term = number
	return rec
}

// feed shows records to a checker and ends the run.
func feed(s *fixedTruth, c check.Checker, end time.Duration, records ...sim.Record) error {
	for i := range records {
		s.now = records[i].T
		if err := c.Observe(&records[i]); err != nil {
			return err
		}
	}
	s.now = sim.Real(end)
	return c.Finish()
}

func newFixedTruth() *fixedTruth { return &fixedTruth{incs: [3]protocol.Inc{1, 1, 1}} }

// settledOnA is three members that start and come to trust a.
func settledOnA(more ...sim.Record) []sim.Record {
	a := ident(0, 1)
	return append([]sim.Record{began(0, 0), began(0, 1), began(0, 2),
		weak(200*time.Millisecond, 0, a), weak(200*time.Millisecond, 1, a), weak(200*time.Millisecond, 2, a)}, more...)
}

func stays(k int, reliable bool, records ...sim.Record) error {
	s := newFixedTruth()
	return feed(s, check.NewStays(s, check.Links{Within: delta, Reliable: reliable}, time.Duration(k)*delta), time.Second, records...)
}

func violates(t *testing.T, name string, err error, words string) {
	t.Helper()
	var v *check.Violation
	if !errors.As(err, &v) || v.Name != name || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v, want a violation of %s that says %q", err, name, words)
	}
}

const s300, s359, s361 = 300 * time.Millisecond, 359 * time.Millisecond, 361 * time.Millisecond

// A message of the leader is lost at 300ms. It may be demoted for that until 6δ later, no longer; a checker whose k is one
// too small does not allow the last δ of that.
func TestALeaderMayBeDemotedUntilItHasBeenAccessibleForLongEnough(t *testing.T) {
	nobody := protocol.NoIdent
	misfortunes := map[string][]sim.Record{
		"lost on the way out": {sent(s300, 1, 0, 1), lost(s300, 1, 0, 1, "lost")},
		"lost on the way in":  {sent(s300, 1, 2, 0), lost(s300, 1, 2, 0, "cut")},
		"late":                {sent(s300, 1, 0, 1), came(s300+15*time.Millisecond, 1, 0, 1, s300, 15*time.Millisecond)},
		"not proven":          {sent(s300, 1, 0, 1), came(s300+time.Millisecond, 1, 0, 1, s300, -1)},
		"proven to be late":   {sent(s300, 1, 0, 1), came(s300+time.Millisecond, 1, 0, 1, s300, 15*time.Millisecond)},
		"still on its way":    {sent(s300, 1, 0, 1)},
		"late to the dead":    {sent(s300, 1, 0, 1), crashed(s300+11*time.Millisecond, 1)},
		"somebody was frozen": {fault(s300, sim.EvHeal, sim.Fault{Kind: sim.Pause, A: 2})},
		"a clock jumped":      {fault(s300, sim.EvFault, sim.Fault{Kind: sim.Jump, A: 2})},
	}
	for name, what := range misfortunes {
		soon, late := weak(s359, 2, nobody), weak(s361, 2, nobody)
		if err := stays(6, false, append(settledOnA(what...), soon)...); err != nil {
			t.Errorf("%s, soon: %v", name, err)
		}
		violates(t, "S-kSTAB", stays(6, false, append(settledOnA(what...), late)...), "a/1, which all trusted and which has been accessible since 300ms")
		violates(t, "S-kSTAB", stays(5, false, append(settledOnA(what...), soon)...), "a/1")
	}
}

func TestWhatBefallsOthersDoesNotExcuseADemotion(t *testing.T) {
	for _, what := range map[string][]sim.Record{
		"a link between others":    {sent(s300, 1, 1, 2), lost(s300, 1, 1, 2, "lost")},
		"a message that was heard": {sent(s300, 1, 0, 1), came(s300+time.Millisecond, 1, 0, 1, s300, 2*time.Millisecond)},
		"a copy that was late": {sent(s300, 1, 0, 1), came(s300+time.Millisecond, 1, 0, 1, s300, 2*time.Millisecond),
			came(s300+30*time.Millisecond, 1, 0, 1, s300, 30*time.Millisecond)},
		"a crash of another":         {crashed(s300, 1)},
		"a message to one that died": {sent(s300, 1, 0, 1), crashed(s300+9*time.Millisecond, 1)},
	} {
		err := stays(6, false, append(settledOnA(what...), weak(s300+35*time.Millisecond, 2, ident(2, 1)))...)
		violates(t, "S-kSTAB", err, "a/1")
	}
}

func TestOfReliableLinksTheLatenessCountsWhenItEnds(t *testing.T) {
	// Sent at 250ms, and here at 300ms: the link was bad until 290ms at least.
	what := []sim.Record{sent(250*time.Millisecond, 1, 0, 1), came(s300, 1, 0, 1, 250*time.Millisecond, 60*time.Millisecond)}
	if err := stays(3, true, append(settledOnA(what...), weak(s300+19*time.Millisecond, 2, protocol.NoIdent))...); err != nil {
		t.Error(err)
	}
	violates(t, "S-kSTAB", stays(3, true, append(settledOnA(what...), weak(s300+21*time.Millisecond, 2, protocol.NoIdent))...), "since 290ms")
	violates(t, "S-kSTAB", stays(2, true, append(settledOnA(what...), weak(s300+19*time.Millisecond, 2, protocol.NoIdent))...), "since 290ms")
	// A member that comes back has missed messages: nothing is promised after that.
	back := append(what, crashed(s300, 1), restart(s300, 1))
	if err := stays(3, true, append(settledOnA(back...), weak(2*s300, 2, protocol.NoIdent))...); err != nil {
		t.Error(err)
	}
}

func TestNewcomersCountOnceTheyHaveBeenThereForAWhile(t *testing.T) {
	back := []sim.Record{crashed(s300, 1), restart(s300, 1)}
	if err := stays(6, false, settledOnA(append(back, weak(s359, 1, ident(2, 1)), weak(s361, 1, ident(0, 1)))...)...); err != nil {
		t.Errorf("a newcomer was wrong for a moment: %v", err)
	}
	violates(t, "S-kSTAB", stays(6, false, settledOnA(append(back, weak(s359, 1, ident(0, 1)), weak(s361, 1, ident(2, 1)))...)...), "c/1 is trusted by b")
}

func TestACrashOrARestartIsADemotion(t *testing.T) {
	for _, what := range []sim.Record{crashed(400*time.Millisecond, 0), restart(400*time.Millisecond, 0)} {
		if err := stays(6, false, settledOnA(what)...); err != nil {
			t.Error(err)
		}
	}
}

func prompt(end time.Duration, able func(protocol.Set) bool, records ...sim.Record) error {
	s := newFixedTruth()
	return feed(s, check.NewPrompt(s, check.Links{Within: delta}, 9*delta, able), end, records...)
}

func TestALeaderMustBeFoundInTimeWhileAllIsWell(t *testing.T) {
	a, ms := ident(0, 1), time.Millisecond
	up := []sim.Record{began(0, 0), began(0, 1), began(0, 2)}
	found := func(t time.Duration) []sim.Record { return []sim.Record{weak(t, 0, a), weak(t, 1, a), weak(t, 2, a)} }
	with := func(more ...[]sim.Record) (all []sim.Record) {
		all = append(all, up...)
		for _, m := range more {
			all = append(all, m...)
		}
		return all
	}
	bad := []sim.Record{sent(50*ms, 1, 1, 2), lost(50*ms, 1, 1, 2, "lost")}
	for name, err := range map[string]error{
		"in time":            prompt(time.Second, nil, with(found(90*ms))...),
		"after a bad link":   prompt(time.Second, nil, with(bad, found(139*ms))...),
		"after a crash":      prompt(time.Second, nil, with([]sim.Record{crashed(80*ms, 2)}, found(169 * ms)[:2])...),
		"they cannot":        prompt(time.Second, func(protocol.Set) bool { return false }, with()...),
		"found again":        prompt(time.Second, nil, with(found(ms), []sim.Record{weak(200*ms, 1, protocol.NoIdent)}, found(289*ms))...),
		"the run was short":  prompt(80*ms, nil, with()...),
		"nobody is there":    prompt(time.Second, nil),
		"one waits for long": prompt(time.Second, nil, with([]sim.Record{crashed(ms, 1), crashed(ms, 2), weak(50*ms, 0, a)})...),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for words, err := range map[string]error{
		"no leader since 0s":    prompt(time.Second, nil, with()...),
		"no leader since 0s; ":  prompt(time.Second, nil, with(found(91*ms))...),
		"well since 50ms":       prompt(time.Second, nil, with(bad, found(141*ms))...),
		"no leader since 200ms": prompt(time.Second, nil, with(found(ms), []sim.Record{weak(200*ms, 1, protocol.NoIdent)}, found(291*ms))...),
		"no leader since 300ms": prompt(time.Second, nil, with(found(ms), []sim.Record{weak(300*ms, 1, ident(1, 1))})...),
	} {
		violates(t, "S-9D", err, words)
	}
}

func TestOneNumberIsOneLeaders(t *testing.T) {
	a, b := ident(0, 1), ident(1, 1)
	run := func(records ...sim.Record) error {
		s := newFixedTruth()
		return feed(s, check.NewNumbered(s, time.Second), 5*time.Second, records...)
	}
	if err := run(under(1, 0, a, 3), under(2, 1, a, 3), under(2, 2, b, 4), liveness(3, 0, 1)); err != nil {
		t.Error(err)
	}
	violates(t, "S-OM+", run(under(1, 0, a, 3), under(2, 1, b, 3)), "b trusts b/1 under the number 3, which was a's")
	violates(t, "S-OM+", run(under(1, 0, a, 3), under(1, 1, a, 6), liveness(3, 0, 1)), "b is at the number 6, but a at 3")
	violates(t, "S-OM+", run(under(1, 0, a, 3), under(1, 1, a, 6), liveness(3, 0, 1), under(3*time.Second, 1, a, 3)), "b is at the number 6")
}

func TestInTheEndOnlyTheLeaderSpeaks(t *testing.T) {
	a, late := ident(0, 1), 3*time.Second
	run := func(both bool, records ...sim.Record) (*check.Quiet, error) {
		s := newFixedTruth()
		q := check.NewQuiet(s, time.Second, both)
		all := append([]sim.Record{weak(1, 0, a), weak(1, 1, a), weak(1, 2, a), sent(2, 1, 1, 2), liveness(3, 0, 1, 2)}, records...)
		return q, feed(s, q, 5*time.Second, all...)
	}
	out := []sim.Record{sent(late, 2, 0, 1), sent(late, 3, 0, 2)}
	if q, err := run(false, out...); err != nil || q.Used() != 2 {
		t.Errorf("%v, %d links", err, q.Used())
	}
	if _, err := run(true, append(out, sent(late, 4, 1, 0))...); err != nil {
		t.Error(err)
	}
	_, err := run(false, append(out, sent(late, 4, 1, 0))...)
	violates(t, "S-COMM", err, "b sends x.Y to a, although a leads")
	_, err = run(true, append(out, sent(late, 4, 1, 2))...)
	violates(t, "S-COMM", err, "b sends x.Y to c")
	_, err = run(false, out[:1]...)
	violates(t, "S-COMM", err, "a leads, but said nothing to c")
}

func TestInTheEndExactlyTheLivingAreTrusted(t *testing.T) {
	trusting := func(t time.Duration, r protocol.Rank, who ...protocol.Rank) sim.Record {
		rec := weak(t, r, ident(0, 1))
		rec.Members = protocol.NewSet(who...)
		return rec
	}
	run := func(records ...sim.Record) error {
		s := newFixedTruth()
		return feed(s, check.NewTrusted(s, time.Second), 5*time.Second, records...)
	}
	if err := run(trusting(1, 0, 0, 1, 2), liveness(2, 0, 1), trusting(3, 0, 0, 1), trusting(3, 1, 0, 1)); err != nil {
		t.Error(err)
	}
	violates(t, "S-P", run(liveness(2, 0, 1), trusting(3, 0, 0, 1), trusting(3, 1, 0, 1, 2)), "b trusts {a b c} to be alive, and that is {a b}")
	violates(t, "S-P", run(liveness(2, 0, 1), trusting(3, 0, 0, 1), trusting(3, 1, 0, 1), trusting(3*time.Second, 1, 1)), "b trusts {b} to be alive")
}
