package script_test

import (
	"strings"
	"testing"

	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/script"
)

// play plays statements on three members of rank, with links that take exactly a millisecond.
func play(t *testing.T, statements string, o script.Options) *script.Result {
	t.Helper()
	s, err := script.Parse("x", []byte("protocol rank\nmembers 3\nlinks delay 1ms\n"+statements))
	if err != nil {
		t.Fatal(err)
	}
	r, err := script.Play(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestExpectationsThatHold(t *testing.T) {
	for _, statements := range []string{
		"run 1s\nexpect a leads\nexpect b follows a\nexpect {b c} follow a\nexpect all follow a\nexpect all agree",
		"run 1s\nexpect not b leads\nexpect not nobody leads\nexpect a leads by elector",
		"down *\nexpect nobody leads\nexpect a is down\nrestart *\nrun 1s\nexpect all are up\nexpect all agree",
		"cut *\nrun 20ms\nexpect b has no leader\nrun 1s\nexpect {a b c} lead",
		"run 1s\npause a\nexpect a is frozen\nexpect a is up\nexpect not b is frozen",
		"run 1s\ncrash a\nexpect a is down\nexpect not all agree\nrun until b leads\nexpect {b c} agree",
		"run 1s\nrun 5s while all agree",
		"run until 500ms\nrun until 2s\nexpect all agree",
		"run until all agree within 200ms",
		"run 1s\ncrash a\nrun until b states suspect within 1s",
		"run 1s\ncrash a\nrun until b states suspect 0 within 1s\nexpect not b states suspect 7",
		"at 500ms crash a\nrun 499ms\nexpect a is up\nrun 2ms\nexpect a is down",
		"run 1s\nafter 500ms crash {a b}\nrun 2s\nexpect c leads",
		"run 1s\ncrash leader\nrun 1s\nexpect b leads\ncrash leader\nrun 1s\nexpect c leads",
		"run 1s\ncrash a for 1s\nrun 500ms\nexpect b leads\nrun 1s\nexpect a leads",
		"run 1s\ncut a\nrun 1s\nexpect {a b} lead\nheal a\nrun 1s\nexpect all agree",
		"run 1s\ncut a->b\ncut a->c\nrun 1s\nexpect {b c} follow b\nheal a->b\nrun 1s\nexpect b follows a\nexpect c follows b",
		"run 1s\ncut {a b}<->c\nrun 1s\nexpect c leads\nheal c\nrun 1s\nexpect all agree",
		"run 1s\nlose *->c 100% for 1s\nrun 900ms\nexpect c leads\nrun 1s\nexpect c follows a",
		"run 1s\nclock b stops\ncrash a\nrun 1m while b follows a\nclock b runs\nrun 1s\nexpect b leads",
	} {
		if r := play(t, statements, script.Options{}); !r.OK() {
			t.Errorf("%s\n%v", statements, r.Err("x"))
		}
	}
}

func TestExpectationsThatDoNotHoldSayWhatIsSo(t *testing.T) {
	for _, c := range []struct{ statements, want string }{
		{"run 1s\nexpect b leads", "x:5:1: it is otherwise: b follows a (elected a)"},
		{"down a\nexpect a leads", "x:5:1: it is otherwise: a is down"},
		{"run 1s\nexpect nobody leads", "x:5:1: it is otherwise: a leads (elected a)"},
		{"run 1s\nexpect c has no leader", "x:5:1: it is otherwise: c follows a (elected a)"},
		{"run 1s\nexpect not all agree", "x:5:1: it is otherwise: all agree"},
		{"run 1s\nexpect a is frozen", "x:5:1: it is otherwise: a is up"},
		{"run 1s\ncrash a\nexpect all agree", "x:6:1: it is otherwise: b follows a (elected a), which is down"},
		{"run 1s\nrun until b leads within 1s", "x:5:1: it did not come to this by 2s: b follows a (elected a)"},
		{"run 1s\nrun until a states suspect within 1s", `x:5:1: it did not come to this by 2s: a has not stated "suspect"`},
		{"run 1s\nrun until a states suspect 3 within 1s", `x:5:1: it did not come to this by 2s: a has not stated "suspect" of 3`},
		{"run 1s\nafter 1s crash a\nrun 2s while all agree", "x:6:1: it came to an end at 2s: b follows a (elected a), which is down"},
		{"run 1s\nrun until 500ms", "x:5:1: 500ms is over: it is 1s now"},
		{"run 1s\nat 500ms crash a", "x:5:1: 500ms is over: it is 1s now"},
		{"run 1s\nresume a", "x:5:1: a was not frozen"},
		{"run 1s\nheal", "x:5:1: nothing was wrong with those links"},
		{"partition a\nheal a->b", "x:5:1: nothing was wrong with those links, or with them only"},
		{"run 1s\ndeliver rank.OK a->b", "x:5:1: no rank.OK is held there"},
		{"run 1s\npass rank.OK a->b", "x:5:1: no rule is about rank.OK there, and none is held"},
		{"run 1s\nrun until held rank.OK a->b within 1s", "x:5:1: it did not come to this by 2s: no rank.OK was held"},
		{"run 1s\n----\nb leads {a b c}", "x:5:1: the output is not as expected:\n  - b leads {a b c}\n  + a leads {a b c}"},
		{"run 1s\n----", "x:5:1: the output is not as expected:\n  + a leads {a b c}"},
		{"run 1s\nexpect violation S-OM", "x:5:1: no invariant was violated"},
		{"run 1s\nexpect violation N-TOK (resource)", "x:5:1: no invariant was violated"},
		{"run 1s\nat 2s deliver rank.OK a->b\nrun 2s", "x:6:1: no rank.OK is held there"},
	} {
		r := play(t, c.statements, script.Options{})
		if err := r.Err("x"); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant %s", c.statements, err, c.want)
		}
	}
}

func TestAFailedExpectationDoesNotEndTheScript(t *testing.T) {
	r := play(t, "run 1s\nexpect b leads\nexpect c leads\n\nrun 1s\n----\na leads {a b c}", script.Options{})
	if len(r.Failures) != 2 || r.Checks != 3 || len(r.Printed) != 2 {
		t.Errorf("%d failures of %d checks, %d paragraphs; want 2 of 3 in 2", len(r.Failures), r.Checks, len(r.Printed))
	}
}

func TestRulesForMessages(t *testing.T) {
	for _, c := range []struct{ name, statements string }{
		{"dropped for good", "drop rank.OK a->b\nrun 5s\nexpect b leads\nexpect c follows a\nexpect not all agree"},
		{"only the next one", "run 1s\ndrop next rank.OK a->b\nrun 5s while b follows a"},
		{"only the next two", "run 1s\ndrop next 2 rank.OK a->b\nrun until b leads within 200ms\nrun 1s\nexpect b follows a"},
		{"held and passed", "hold rank.OK a->b\nrun 1s\nexpect b leads\nexpect held rank.OK a->b\npass rank.OK a->b\nrun 1s\nexpect b follows a"},
		{"passed as part of more", "hold rank.OK a->b\nhold rank.OK a->c\nrun 1s\npass * a\nrun 1s\nexpect all agree"},
		{"held and forgotten", "hold next 20 rank.OK a->b\nrun 2s\nforget rank.OK a->b\nexpect not held * *\nrun 1s\nexpect b follows a"},
		{"the newest rule counts", "drop rank.OK a->*\nhold rank.OK a->b\nrun 1s\nexpect held rank.OK a->b\nexpect not held rank.OK a->c"},
		{"delayed", "run 1s\ndelay rank.OK a->b by 500ms\nrun until b leads within 200ms\nrun 2s\nexpect b follows a"},
		{"sent", "run 1010ms\nrun until sent rank.OK a->b within 50ms\nexpect not delivered rank.OK a->b\nrun until delivered rank.OK a->b within 1ms"},
		{"later", "at 1s drop rank.OK a->b\nrun 999ms\nexpect b follows a\nrun 1s\nexpect b leads"},
		{"settled", "hold rank.OK *\nrun 1s\nexpect {a b c} lead\nsettle 7s\nexpect all agree"},
	} {
		if r := play(t, c.statements, script.Options{}); !r.OK() {
			t.Errorf("%s: %v", c.name, r.Err("x"))
		}
	}
}

func TestWhatWasHeldIsDeliveredFirstOrLastAsAsked(t *testing.T) {
	for _, c := range []struct{ which, want string }{
		{"", "1.15s a->b rank.OK arrives|1.15s a->b rank.OK arrives|1.15s a->b rank.OK arrives"},
		{"first ", "1.15s a->b rank.OK arrives"},
		{"last ", "1.15s a->b rank.OK arrives"},
	} {
		r := play(t, "run 1s\nhold next 3 rank.OK a->b\nrun until 1.15s\n\nwatch messages rank.OK\ndeliver "+c.which+
			"rank.OK a->b\nrun 100us\n\nwatch nothing\nshow held", script.Options{})
		var arrived []string
		for _, line := range r.Printed[1] {
			if strings.Contains(line, "a->b rank.OK arrives") {
				arrived = append(arrived, line)
			}
		}
		if got := strings.Join(arrived, "|"); got != c.want {
			t.Errorf("deliver %s: got %q, want %q", c.which, got, c.want)
		}
		if left := len(r.Printed[2]); c.which != "" && left != 2 {
			t.Errorf("deliver %s: %d left, want 2", c.which, left)
		}
	}
}

func TestADroppedMessageIsInTheTrace(t *testing.T) {
	var drops recorder
	play(t, "run 1s\ndrop next rank.OK a->b\nrun 1s", script.Options{Observers: []sim.Observer{&drops}})
	count := 0
	for _, r := range drops {
		if r.Ev == sim.EvDrop && r.Why == "rank.OK: script" {
			count++
		}
	}
	if count != 1 {
		t.Errorf("%d messages dropped by the script in the trace, want 1", count)
	}
}

// recorder keeps all records.
type recorder []sim.Record

func (r *recorder) Observe(one *sim.Record) error {
	*r = append(*r, *one)
	return nil
}

func TestAViolationEndsTheScriptUnlessItIsExpected(t *testing.T) {
	broken := script.Options{Protocol: forgetful(t)}
	r := play(t, "links delay 1ms..20ms\nsettle 10s\nrun 1s\nexpect b leads", broken)
	if r.Violated() != "S-OM" || r.At.Line != 5 || len(r.Failures) != 0 {
		t.Errorf("violated %q in line %d with %d failures; want S-OM in line 5 and none", r.Violated(), r.At.Line, len(r.Failures))
	}
	if r := play(t, "links delay 1ms..20ms\nsettle 10s\nexpect violation S-OM", broken); !r.OK() || r.At != (script.Pos{}) {
		t.Errorf("an expected violation fails: %v", r.Err("x"))
	}
	r = play(t, "links delay 1ms..20ms\nsettle 10s\nexpect violation N-LU", broken)
	if err := r.Err("x"); err == nil || !strings.HasPrefix(err.Error(), "x:6:1: another invariant was violated: S-OM") {
		t.Errorf("got %v, want another invariant", err)
	}
	r = play(t, "links delay 1ms..20ms\nsettle 10s\nexpect violation S-OM\nrun 1s", broken)
	if err := r.Err("x"); err == nil || !strings.Contains(err.Error(), "x:7:1: nothing can happen after a violation") {
		t.Errorf("got %v, want that nothing follows a violation", err)
	}
}

func TestTheSameSeedGivesTheSameRunAndAnotherSeedAnother(t *testing.T) {
	var runs []recorder
	for _, seed := range []uint64{1, 1, 2} {
		var r recorder
		play(t, "watch views\nrun 2s", script.Options{Seed: &seed, Observers: []sim.Observer{&r}})
		runs = append(runs, r)
	}
	same := func(a, b recorder) bool {
		for i := range min(len(a), len(b)) {
			if a[i].T != b[i].T || a[i].Ev != b[i].Ev || a[i].Node != b[i].Node {
				return false
			}
		}
		return len(a) == len(b)
	}
	if !same(runs[0], runs[1]) {
		t.Error("the same seed gave two runs")
	}
	s, err := script.Parse("x", []byte("protocol rank\nmembers 3\nrun 2s"))
	if err != nil {
		t.Fatal(err)
	}
	var a, b recorder
	for seed, r := range map[uint64]*recorder{1: &a, 2: &b} {
		if _, err := script.Play(s, script.Options{Seed: &seed, Observers: []sim.Observer{r}}); err != nil {
			t.Fatal(err)
		}
	}
	if same(a, b) {
		t.Error("two seeds gave the same run, although delays are random")
	}
}

func TestRewriteChangesOnlyWhatIsExpected(t *testing.T) {
	text := "# Title.\nprotocol rank\nmembers 3\n\nrun 1s   # wait\n----\nold\nlines\n\n\n# Note.\ncrash a\nrun 1s\n----\n\nrun 1s\n"
	want := "# Title.\nprotocol rank\nmembers 3\n\nrun 1s   # wait\n----\na leads {a b c}\n\n\n# Note.\ncrash a\nrun 1s\n----\nb leads {b c}; a is down\n\nrun 1s\n"
	s, err := script.Parse("x", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r, err := script.Play(s, script.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(s.Rewrite(r)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAProtocolRefusesTooFewMembers(t *testing.T) {
	p := forgetful(t)
	p.MinMembers = 4
	s, err := script.Parse("x", []byte("protocol rank\nmembers 3\nrun 1s"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := script.Play(s, script.Options{Protocol: p}); err == nil || !strings.Contains(err.Error(), "needs at least 4") {
		t.Errorf("got %v, want an error", err)
	}
}
