package check

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

var majority = protocol.Majority(5)

func TestUnique(t *testing.T) {
	checkCases(t, func(tr Truth) Checker { return newUnique(newTimedLedger(tr), majority) }, []traceCase{
		{"one after the other", `
			1s a lease g tenure=1 token=5 until=2s horizon=1
			1500ms a horizon horizon=1 until=2500ms
			2500ms b lease g tenure=1 token=6 until=4s horizon=1`, ""},
		{"two at once", `
			1s a lease g tenure=1 token=5 until=3s horizon=1
			2s b lease g tenure=1 token=6 until=4s horizon=1`, "and so does b/1"},
		{"two at once by a nanosecond that no event sees", `
			1s a lease g tenure=1 token=5 until=2s horizon=1
			1999999999ns b lease g tenure=1 token=6 until=4s horizon=1`, "and so does b/1"},
		{"a slow clock makes its lease longer", `
			clock a -1000ppm
			1s a lease g tenure=1 token=5 until=2s horizon=1
			2001ms b lease g tenure=1 token=6 until=4s horizon=1`, "a/1 leads"},
		{"a fast clock makes it shorter", `
			clock a 1000ppm
			1s a lease g tenure=1 token=5 until=2s horizon=1
			1999ms b lease g tenure=1 token=6 until=4s horizon=1`, ""},
		{"another group", `
			1s a lease g tenure=1 token=5 until=3s horizon=1
			2s b lease h tenure=1 token=6 until=4s horizon=1`, ""},
		{"another domain is another matter", `
			1s a lease g tenure=1 token=5 until=3s horizon=1
			2s b weak to=b
			2s a stepdown g tenure=1
			2s b lease g tenure=1 token=6 until=4s horizon=1`, ""},
		{"a crash ends a lease", `
			1s a lease g tenure=1 token=5 until=3s horizon=1
			2s a crash
			2100ms b lease g tenure=1 token=6 until=4s horizon=1`, ""},
		{"a horizon that moves after the lease lapsed brings it back", `
			1s a lease g tenure=1 token=5 until=2s horizon=1
			2500ms b lease g tenure=1 token=6 until=4s horizon=1
			3s a horizon horizon=1 until=5s`, "b/1 leads"},
		{"another horizon does not", `
			1s a lease g tenure=1 token=5 until=2s horizon=1
			2500ms b lease g tenure=1 token=6 until=4s horizon=1
			3s a horizon horizon=2 until=5s`, ""},
		{"a frozen lease does not move", `
			1s a lease g tenure=1 token=5 until=2s horizon=1
			1s a lease g tenure=1 token=5 until=2s why=frozen
			1100ms a horizon horizon=1 until=9s
			2500ms b lease g tenure=1 token=6 until=4s horizon=1`, ""},
		{"the next incarnation beside the old one's ghost program is another matter", `
			1s a lease g tenure=1 token=5 until=9s horizon=1
			2s a crash
			3s a/2 restart
			3s a/2 lease g tenure=1 token=6 until=9s horizon=1`, ""},
		{"two quorums of promises", `
			1s a promise to=a gen=1 seq=1 until=9s
			1s b promise to=a gen=1 seq=2 until=9s
			1s c promise to=a gen=1 seq=3 until=9s
			1s a assign g to=a gen=1 tenure=1 term=5
			1s b assign g to=a gen=1 tenure=1 term=5
			1s c assign g to=a gen=1 tenure=1 term=5
			2s c crash
			3s c/2 restart
			3s c/2 promise to=d gen=1 seq=1 until=9s
			3s d promise to=d gen=1 seq=2 until=9s
			3s e promise to=d gen=1 seq=3 until=9s
			3s d assign g to=d gen=1 tenure=1 term=6
			3s e assign g to=d gen=1 tenure=1 term=6
			3s c/2 assign g to=d gen=1 tenure=1 term=6`, "{c d e} back d/1"},
		{"a restart after the promise is over", `
			1s a promise to=a gen=1 seq=1 until=9s
			1s b promise to=a gen=1 seq=2 until=9s
			1s c promise to=a gen=1 seq=3 until=3s
			1s a assign g to=a gen=1 tenure=1 term=5
			1s b assign g to=a gen=1 tenure=1 term=5
			1s c assign g to=a gen=1 tenure=1 term=5
			2s c crash
			3s c/2 restart
			3s c/2 promise to=d gen=1 seq=1 until=9s
			3s d promise to=d gen=1 seq=2 until=9s
			3s e promise to=d gen=1 seq=3 until=9s
			3s d assign g to=d gen=1 tenure=1 term=6
			3s e assign g to=d gen=1 tenure=1 term=6
			3s c/2 assign g to=d gen=1 tenure=1 term=6`, ""},
		{"a lapsed promise that goes on as if nothing had been", `
			1s a promise to=a gen=1 seq=1 until=9s
			1s b promise to=a gen=1 seq=2 until=9s
			1s c promise to=a gen=1 seq=3 until=2s
			1s a assign g to=a gen=1 tenure=1 term=5
			1s b assign g to=a gen=1 tenure=1 term=5
			1s c assign g to=a gen=1 tenure=1 term=5
			3s d promise to=d gen=1 seq=2 until=9s
			3s e promise to=d gen=1 seq=3 until=9s
			3s b/2 promise to=d gen=1 seq=4 until=9s
			3s d assign g to=d gen=1 tenure=1 term=6
			3s e assign g to=d gen=1 tenure=1 term=6
			3s b/2 assign g to=d gen=1 tenure=1 term=6
			4s c promise to=a gen=1 seq=4 until=9s`, "back"},
		{"a release frees a voter", `
			1s a promise to=a gen=1 seq=1 until=9s
			1s b promise to=a gen=1 seq=2 until=9s
			1s c promise to=a gen=1 seq=3 until=9s
			1s a assign g to=a gen=1 tenure=1 term=5
			1s b assign g to=a gen=1 tenure=1 term=5
			1s c assign g to=a gen=1 tenure=1 term=5
			2s c unassign g to=a term=5 bore=5 why=released
			3s c promise to=d gen=1 seq=1 until=9s
			3s d promise to=d gen=1 seq=2 until=9s
			3s e promise to=d gen=1 seq=3 until=9s
			3s d assign g to=d gen=1 tenure=1 term=6
			3s e assign g to=d gen=1 tenure=1 term=6
			3s c assign g to=d gen=1 tenure=1 term=6`, ""},
	})
}

// three is a group that three voters back until 3s of their clocks, and its lease.
const three = `
	1s a promise to=a gen=1 seq=1 until=3s
	1s b promise to=a gen=1 seq=2 until=3s
	1s c promise to=a gen=1 seq=3 until=3s
	1s a assign g to=a gen=1 tenure=1 term=5
	1s b assign g to=a gen=1 tenure=1 term=5
	1s c assign g to=a gen=1 tenure=1 term=5
	1s a lease g tenure=1 token=5 until=3s horizon=1
`

func TestBacked(t *testing.T) {
	checkCases(t, func(tr Truth) Checker { return newBacked(newTimedLedger(tr), majority) }, []traceCase{
		{"a quorum to the end", three, ""},
		{"too few voters", `
			1s a promise to=a gen=1 seq=1 until=3s
			1s b promise to=a gen=1 seq=2 until=3s
			1s a assign g to=a gen=1 tenure=1 term=5
			1s b assign g to=a gen=1 tenure=1 term=5
			1s a lease g tenure=1 token=5 until=3s horizon=1`, "only {a b}"},
		{"promises without assignments", `
			1s a promise to=a gen=1 seq=1 until=3s
			1s b promise to=a gen=1 seq=2 until=3s
			1s c promise to=a gen=1 seq=3 until=3s
			1s a lease g tenure=1 token=5 until=3s horizon=1`, "only {}"},
		{"a lease longer than its promises", three + `1500ms a horizon horizon=1 until=3000001us`, "only {}"},
		{"a voter whose clock runs fast", "clock c 1000ppm\n" + three, "only {a b}"},
		{"a holder whose clock runs fast", "clock a 1000ppm\n" + `
			1s b promise to=a gen=1 seq=2 until=3s
			1s c promise to=a gen=1 seq=3 until=3s
			1s d promise to=a gen=1 seq=3 until=3s
			1s b assign g to=a gen=1 tenure=1 term=5
			1s c assign g to=a gen=1 tenure=1 term=5
			1s d assign g to=a gen=1 tenure=1 term=5
			1s a lease g tenure=1 token=5 until=3002ms horizon=1`, ""},
		{"a crashed voter still backs", three + `
			2s c crash
			2100ms a horizon horizon=1 until=3s`, ""},
		{"a release under a lease", three + `2s c unassign g to=a term=5 bore=5 why=released`, "only {a b}"},
		{"a release of another group", three + `
			1s c assign h to=a gen=1 tenure=2 term=5
			2s c unassign h to=a term=5 bore=5 why=released`, ""},
		{"a break under a lease", three + `2s c break to=a gen=1`, "only {a b}"},
		{"a voter that gives the group to another", three + `
			2s c promise to=d gen=1 seq=1 until=4s
			2s c assign g to=d gen=1 tenure=1 term=6`, "only {a b}"},
		{"a fourth voter makes up for it", `
			1s d promise to=a gen=1 seq=4 until=3s
			1s d assign g to=a gen=1 tenure=1 term=5` + three + `2s c unassign g to=a term=5 bore=5 why=released`, ""},
		{"after the end nobody need back it", three + `3s c unassign g to=a term=5 why=lapsed`, ""},
		{"after stepping down neither", three + `
			2s a stepdown g tenure=1
			2s c unassign g to=a term=5 bore=5 why=released
			2s b unassign g to=a term=5 bore=5 why=released`, ""},
	})
}

func TestKeeps(t *testing.T) {
	const word = `
		1s a promise to=b gen=1 seq=1 until=3s
		1s a assign g to=b gen=1 tenure=1 term=5
	`
	checkCases(t, func(tr Truth) Checker { return newKeeps(newTimedLedger(tr)) }, []traceCase{
		{"extends", word + `2s a promise to=b gen=1 seq=2 until=4s`, ""},
		{"extends by nothing", word + `2s a promise to=b gen=1 seq=2 until=3s`, ""},
		{"shortens", word + `2s a promise to=b gen=1 seq=2 until=2999ms`, "shortens"},
		{"takes a request again", word + `2s a promise to=b gen=1 seq=1 until=4s`, "takes request 1"},
		{"extends what has lapsed", word + `3s a promise to=b gen=1 seq=2 until=4s`, "as if it had never lapsed"},
		{"begins anew after the end", word + `
			3s a break to=b gen=1
			3s a promise to=b gen=2 seq=2 until=5s
			3s a assign g to=b gen=2 tenure=2 term=6`, ""},
		{"breaks before the end", word + `2s a break to=b gen=1`, "stands until 3s"},
		{"breaks what it never said", word + `2s a break to=c gen=1`, "no promise"},
		{"begins anew before the end", word + `2s a promise to=b gen=2 seq=2 until=5s`, "before the old one ends"},
		{"goes back to an old promise", word + `
			3s a break to=b gen=1
			3s a promise to=b gen=2 seq=2 until=5s
			4s a promise to=b gen=1 seq=3 until=6s`, "goes back"},
		{"assigns in an old promise", word + `
			3s a break to=b gen=1
			3s a promise to=b gen=2 seq=2 until=5s
			3s a assign h to=b gen=1 tenure=2 term=6`, "without a promise"},
		{"assigns without a promise", `1s a assign g to=b gen=1 tenure=1 term=5`, "without a promise"},
		{"gives away what has lapsed", word + `
			3s a promise to=c gen=1 seq=1 until=5s
			3s a assign g to=c gen=1 tenure=1 term=6`, ""},
		{"gives away what is promised", word + `
			2s a promise to=c gen=1 seq=1 until=5s
			2s a assign g to=c gen=1 tenure=1 term=6`, "takes it from b/1"},
		{"repeats an assignment", word + `2s a assign g to=b gen=1 tenure=1 term=5`, ""},
		{"hears a release", word + `2s a unassign g to=b term=5 bore=5 why=released`, ""},
		{"hears a release of more", word + `2s a unassign g to=b term=5 bore=9 why=released`, ""},
		{"hears a late release", word + `2s a unassign g to=b term=5 bore=4 why=released`, "by a release of term 4"},
		{"releases from the wrong one", word + `2s a unassign g to=c term=5 bore=5 why=released`, "does not have it"},
		{"lapses early", word + `2s a unassign g to=b term=5 why=lapsed`, "stands until 3s"},
		{"lapses", word + `3s a unassign g to=b term=5 why=lapsed`, ""},
		{"has other reasons", word + `3s a unassign g to=b term=5 why=whim`, "no reason"},
		{"forgets in a restart", word + `
			2s a crash
			2s a/2 restart
			2s a/2 promise to=b gen=1 seq=1 until=4s`, ""},
	})
}

func TestEdictValid(t *testing.T) {
	const led = `1s a lease g tenure=1 token=5 until=3s horizon=1 qt=0/1@10,1/1@20,2/1@30
	`
	checkCases(t, func(tr Truth) Checker { return &EdictValid{cursor{timedLedger: newTimedLedger(tr)}} }, []traceCase{
		{"within the lease", led + `2s a edict g tenure=1 at=2s stamp=0.5.2000000000:0/1@10,1/1@20,2/1@30`, ""},
		{"sampled twice in one instant", led + `2s a edict g tenure=1 at=2000000001ns stamp=0.5.2000000001:0/1@10,1/1@20,2/1@30`, ""},
		{"at the end", led + `3s a edict g tenure=1 at=3s stamp=0.5.3000000000:0/1@10,1/1@20,2/1@30`, "ended at 3s"},
		{"after stepping down", led + `
			2s a stepdown g tenure=1
			2s a edict g tenure=1 at=2s stamp=0.5.2000000000:0/1@10,1/1@20,2/1@30`, "does not lead"},
		{"by somebody else", led + `2s b edict g tenure=1 at=2s stamp=0.5.2000000000:0/1@10,1/1@20,2/1@30`, "does not lead"},
		{"with an old sample", led + `2s a edict g tenure=1 at=1s stamp=0.5.1000000000:0/1@10,1/1@20,2/1@30`, "its clock shows 2s"},
		{"with a counter of its own", led + `2s a edict g tenure=1 at=2s stamp=0.5.7:0/1@10,1/1@20,2/1@30`, "not the sample"},
		{"with another token", led + `2s a edict g tenure=1 at=2s stamp=0.6.2000000000:0/1@10,1/1@20,2/1@30`, "token 5"},
		{"with another quorum", led + `2s a edict g tenure=1 at=2s stamp=0.5.2000000000:0/1@10,1/1@20,2/1@31`, "quorum"},
		{"without a stamp", led + `2s a edict g tenure=1 at=2s`, "without a stamp"},
	})
}

func TestEdictOrder(t *testing.T) {
	const led = `1s a lease g tenure=1 token=5 until=3s horizon=1 qt=0/1@10,1/1@20,2/1@30
	`
	checkCases(t, func(tr Truth) Checker { return newEdictOrder(newTimedLedger(tr)) }, []traceCase{
		{"later at every common voter", led + `5s b lease g tenure=1 token=6 until=9s horizon=1 qt=1/1@21,2/1@31,3/1@1`, ""},
		{"the first lease may have the higher clock of its own", led + `5s b lease g tenure=1 token=6 until=9s horizon=1 qt=2/1@31,3/1@1,4/1@1`, ""},
		{"earlier at one common voter", led + `5s b lease g tenure=1 token=6 until=9s horizon=1 qt=1/1@21,2/1@29,3/1@1`, "compare as"},
		{"earlier at all", led + `5s b lease g tenure=1 token=6 until=9s horizon=1 qt=1/1@19,2/1@29,3/1@1`, "is after"},
		{"no common voter", led + `5s b lease g tenure=1 token=6 until=9s horizon=1 qt=3/1@1,4/1@2`, "no voter in common"},
		{"a rebooted voter's clock began anew", led + `5s b lease g tenure=1 token=6 until=9s horizon=1 qt=2/2@3,3/1@1,4/1@1`, ""},
		{"a rebooted voter without an incarnation", led + `5s b lease g tenure=1 token=6 until=9s horizon=1 qt=2/1@3,3/1@1,4/1@1`, "is after"},
		{"a token that disagrees", led + `5s b lease g tenure=1 token=5 until=9s horizon=1 qt=1/1@21,2/1@31,3/1@1`, "token"},
		{"two tenures back", led + `
			5s b lease g tenure=1 token=6 until=9s horizon=1 qt=2/1@31,3/1@1,4/1@1
			9s c lease g tenure=1 token=7 until=12s horizon=1 qt=0/1@9,3/1@2,4/1@2`, "after a/1 did"},
		{"a timestamp that changes within a tenure", led + `2s a lease g tenure=1 token=5 until=4s horizon=2 qt=0/1@10,1/1@20,2/1@35`, "changes the quorum timestamp"},
		{"no timestamp", `1s a lease g tenure=1 token=5 until=3s horizon=1`, "0 voters"},
		{"another group", led + `5s b lease h tenure=1 token=2 until=9s horizon=1 qt=3/1@1,4/1@2`, ""},
		{"edicts in order", led + `
			1500ms a edict g tenure=1 stamp=0.5.100:0/1@10,1/1@20,2/1@30
			1600ms a edict g tenure=1 stamp=0.5.101:0/1@10,1/1@20,2/1@30`, ""},
		{"an edict made later with a lower counter", led + `
			1500ms a edict g tenure=1 stamp=0.5.100:0/1@10,1/1@20,2/1@30
			1600ms a edict g tenure=1 stamp=0.5.99:0/1@10,1/1@20,2/1@30`, "compare as 1"},
		{"an edict made twice", led + `
			1500ms a edict g tenure=1 stamp=0.5.100:0/1@10,1/1@20,2/1@30
			1600ms a edict g tenure=1 stamp=0.5.100:0/1@10,1/1@20,2/1@30`, "compare as 0"},
		{"an edict of the old leader after one of the new", led + `
			5s b lease g tenure=1 token=6 until=9s horizon=1 qt=1/1@21,2/1@31,3/1@1
			6s b edict g tenure=1 stamp=0.6.1:1/1@21,2/1@31,3/1@1
			7s a edict g tenure=1 stamp=0.5.900:0/1@10,1/1@20,2/1@30`, "compare as 1"},
	})
}

func TestToken(t *testing.T) {
	const led = `1s a lease g tenure=1 token=5 until=3s horizon=1
	`
	checkCases(t, func(tr Truth) Checker { return newToken(newTimedLedger(tr)) }, []traceCase{
		{"grows", led + `5s b lease g tenure=1 token=6 until=9s horizon=1`, ""},
		{"stands still for another member", led + `5s b lease g tenure=1 token=5 until=9s horizon=1`, "token 5"},
		{"stands still for another tenure of the same member", led + `
			2s a stepdown g tenure=1
			5s a lease g tenure=2 token=5 until=9s horizon=1`, "tenure 2 with token 5"},
		{"stands still for another incarnation", led + `
			2s a crash
			5s a/2 restart
			5s a/2 lease g tenure=1 token=5 until=9s horizon=1`, "a/2"},
		{"falls", led + `5s b lease g tenure=1 token=4 until=9s horizon=1`, "token 4"},
		{"is constant within a tenure", led + `2s a lease g tenure=1 token=5 until=4s horizon=2`, ""},
		{"changes within a tenure", led + `2s a lease g tenure=1 token=6 until=4s horizon=2`, "from 5 to 6"},
		{"another group has its own", led + `5s b lease h tenure=1 token=5 until=9s horizon=1`, ""},
	})
}

func TestResource(t *testing.T) {
	checkCases(t, func(Truth) Checker { return NewResource(1, sim.Between(0, 0)) }, []traceCase{
		{"in order", `
			1s a edict g tenure=1 stamp=0.5.100:0/1@10,1/1@20
			2s b edict g tenure=1 stamp=0.6.100:1/1@21,2/1@20`, ""},
		{"a stale order is refused, which is all that matters", `
			1s b edict g tenure=1 stamp=0.6.100:1/1@21,2/1@20
			2s a edict g tenure=1 stamp=0.5.100:0/1@10,1/1@20`, ""},
		{"stamps that contradict each other are refused", `
			1s b edict g tenure=1 stamp=0.6.100:1/1@21,2/1@20
			2s a edict g tenure=1 stamp=0.7.100:1/1@20,2/1@21`, ""},
		{"one token, two leaderships", `
			1s a edict g tenure=1 stamp=0.5.100:0/1@10,1/1@20
			2s b edict g tenure=1 stamp=0.5.100:1/1@21,2/1@20
			3s b edict g tenure=1 stamp=0.5.101:1/1@21,2/1@20`, "token 5"},
		{"one token, two tenures of one program's host", `
			1s a edict g tenure=1 stamp=0.5.100:0/1@10,1/1@20
			2s a edict g tenure=2 stamp=0.5.101:0/1@10,1/1@20
			3s a edict g tenure=2 stamp=0.5.102:0/1@10,1/1@20`, "tenure 2"},
		{"a member that asks under no incarnation still leads in its tenure", `
			1s a edict g tenure=1 stamp=0.5.100:0/1@10,1/1@20
			2s a/0 edict g tenure=1 stamp=0.5.101:0/1@10,1/1@20
			3s a/2 edict g tenure=1 stamp=0.5.102:0/1@10,1/1@20
			4s a/2 edict g tenure=1 stamp=0.5.103:0/1@10,1/1@20`, ""},
		{"one token, two starts of a member", `
			1s a edict g tenure=1 stamp=0.5.100:0/1@10,1/1@20
			2s a/2 restart
			3s a/2 edict g tenure=1 stamp=0.5.101:0/1@10,1/1@20
			4s a/2 edict g tenure=1 stamp=0.5.102:0/1@10,1/1@20`, "a/2"},
	})
}

func TestResourceSeesStaleOrders(t *testing.T) {
	p := parse(t, `
		1s a edict g tenure=1 stamp=0.5.100:0/1@10,1/1@20
		2s b edict g tenure=1 stamp=0.6.100:1/1@21,2/1@20
		3s a edict g tenure=1 stamp=0.5.101:0/1@10,1/1@20
		9s - phase why=liveness`)
	c := NewResource(3, sim.Between(0, 0))
	if err := p.play(c); err != nil || c.Carried < 2 || c.Stale < 1 {
		t.Errorf("%v; %d carried out, %d stale", err, c.Carried, c.Stale)
	}
}

func TestStability(t *testing.T) {
	const good = `1s - phase why=liveness members=abc
	`
	checkCases(t, func(tr Truth) Checker { return newStability(newTimedLedger(tr), 500*time.Millisecond) }, []traceCase{
		{"steps down under its lease", good + `
			2s a lease g tenure=1 token=5 until=4s horizon=1
			3s a stepdown g tenure=1`, ""},
		{"lapses", good + `
			2s a lease g tenure=1 token=5 until=4s horizon=1
			4s a stepdown g tenure=1`, "lapsed at 4s"},
		{"lapses and nobody says so", good + `
			2s a lease g tenure=1 token=5 until=4s horizon=1
			5s b weak to=b`, "lapsed at 4s"},
		{"runs on at the end of the trace", good + `
			2s a lease g tenure=1 token=5 until=4s horizon=1
			3s b weak to=b`, ""},
		{"a program that would not stop", good + `
			2s a lease g tenure=1 token=5 until=4s horizon=1
			3s a lease g tenure=1 token=5 until=4s why=frozen
			4s a stepdown g tenure=1`, ""},
		{"gained before all was well", `
			500ms a lease g tenure=1 token=5 until=4s horizon=1` + "\n" + good + `4s a stepdown g tenure=1`, ""},
		{"gained while promises of the dead may stand", good + `
			1499ms a lease g tenure=1 token=5 until=4s horizon=1
			4s a stepdown g tenure=1`, ""},
		{"gained when none can", good + `
			1500ms a lease g tenure=1 token=5 until=4s horizon=1
			4s a stepdown g tenure=1`, "lapsed at 4s"},
		{"outside the core", good + `
			2s d lease g tenure=1 token=5 until=4s horizon=1
			4s d stepdown g tenure=1`, ""},
		{"while all is not well", `
			2s a lease g tenure=1 token=5 until=4s horizon=1
			4s a stepdown g tenure=1`, ""},
	})
}

func TestElected(t *testing.T) {
	const speak = `
		0s a speak
		0s b speak
		0s c speak
	`
	cases := []traceCase{
		{"both in time", `
			1s - phase why=liveness members=abc
			1500ms a lease g tenure=1 token=5 until=9s horizon=1
			2s b lease h tenure=1 token=5 until=9s horizon=1
			5s c weak to=a`, ""},
		{"one too late", `
			1s - phase why=liveness members=abc
			1500ms a lease g tenure=1 token=5 until=9s horizon=1
			2001ms b lease h tenure=1 token=5 until=9s horizon=1`, `nobody has led "h"`},
		{"a lease from before counts", `
			500ms b lease h tenure=1 token=5 until=9s horizon=1
			1s - phase why=liveness members=abc
			1500ms a lease g tenure=1 token=5 until=9s horizon=1
			5s c weak to=a`, ""},
		{"a gap that is too long", `
			500ms b lease h tenure=1 token=5 until=9s horizon=1
			500ms a lease g tenure=1 token=5 until=9s horizon=1
			1s - phase why=liveness members=abc
			3s a stepdown g tenure=1
			4500ms c weak to=a`, `nobody has led "g" since 3s`},
		{"a short gap", `
			500ms b lease h tenure=1 token=5 until=9s horizon=1
			500ms a lease g tenure=1 token=5 until=9s horizon=1
			1s - phase why=liveness members=abc
			3s a stepdown g tenure=1
			3900ms c lease g tenure=1 token=6 until=9s horizon=1
			4500ms c weak to=a`, ""},
		{"nobody ever", `
			1s - phase why=liveness members=abc
			9s c weak to=a`, `nobody has led "g"`},
		{"while all is not well", `9s c weak to=a`, ""},
		{"a quorum that is not well", `
			0s c wait until=2562047h47m16.854775807s
			1s - phase why=liveness members=abc
			9s c weak to=a`, ""},
		{"a quorum that was well too late", `
			0s c wait until=2562047h47m16.854775807s
			1s - phase why=liveness members=abc
			5s c speak
			5900ms c weak to=a`, ""},
		{"a quorum that was well in the end", `
			0s c wait until=2562047h47m16.854775807s
			1s - phase why=liveness members=abc
			5s c speak
			6001ms c weak to=a`, `nobody has led "g"`},
	}
	for i := range cases {
		cases[i].trace = speak + cases[i].trace
	}
	checkCases(t, func(tr Truth) Checker {
		return newElected(newTimedLedger(tr), majority, protocol.Set{}, time.Second, []protocol.Group{"g", "h"})
	}, cases)
}

func TestVerified(t *testing.T) {
	const led = `1s a lease g tenure=1 token=5 until=3s horizon=1
	`
	checkCases(t, func(tr Truth) Checker { return &Verified{cursor: cursor{timedLedger: newTimedLedger(tr)}} }, []traceCase{
		{"leads to the end", led + `2s b verify g to=a token=5 until=3s`, ""},
		{"does not lead", `2s b verify g to=a token=5 until=3s`, "it does not"},
		{"leads in another tenure", led + `2s b verify g to=a token=4 until=3s`, "it does not"},
		{"promised too long", led + `2s b verify g to=a token=5 until=3001ms`, "ends at 3s"},
		{"promised too long to a slow clock", "clock b -1000ppm\n" + led + `2s b verify g to=a token=5 until=3s`, "ends at 3s"},
		{"for ever, as the paper has it", led + `2s b verify g to=a token=5 until=900s`, "ends at 3s"},
		{"steps down under a proof", led + `
			2s b verify g to=a token=5 until=2500ms
			2400ms a stepdown g tenure=1`, "b has a proof"},
		{"steps down after it", led + `
			2s b verify g to=a token=5 until=2500ms
			2500ms a stepdown g tenure=1`, ""},
		{"crashes under a proof", led + `
			2s b verify g to=a token=5 until=2500ms
			2400ms a crash`, ""},
		{"had crashed when the proof came", led + `
			1900ms a crash
			2s b verify g to=a token=5 until=2500ms`, ""},
		{"a proof that is over when it comes", led + `
			1900ms a stepdown g tenure=1
			2s b verify g to=a token=5 until=2s`, ""},
		{"a proof that is not over when it comes", led + `
			1900ms a stepdown g tenure=1
			2s b verify g to=a token=5 until=2100ms`, "it does not"},
	})
}

func TestRoles(t *testing.T) {
	checkCases(t, func(Truth) Checker { return NewRoles(protocol.NewSet(0, 1)) }, []traceCase{
		{"who may", `1s a attempt g tenure=1 token=5
			2s a lease g tenure=1 token=5 until=3s horizon=1`, ""},
		{"a witness tries", `1s c attempt g tenure=1 token=5`, "who may not lead"},
		{"a witness leads", `1s c lease g tenure=1 token=5 until=3s horizon=1`, "who may not lead"},
		{"ill", `1s a health why=ill
			2s a attempt g tenure=1 token=5`, "is ill, and tries"},
		{"ill, and its lease goes on", `1s a health why=ill
			2s a lease g tenure=1 token=5 until=3s horizon=1`, ""},
		{"well again", `1s a health why=ill
			2s a health why=well
			3s a attempt g tenure=1 token=5`, ""},
		{"restarted", `1s a health why=ill
			2s a crash
			3s a attempt g tenure=1 token=5`, ""},
	})
	checkCases(t, func(Truth) Checker { return NewRoles(protocol.Set{}) }, []traceCase{
		{"all may", `1s c attempt g tenure=1 token=5`, ""},
	})
}
