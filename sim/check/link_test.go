package check

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

func TestSlackIsAtMostTwo(t *testing.T) {
	checkCases(t, func(Truth) Checker { return NewSlack() }, []traceCase{
		{"together", `
1s a link to=b seq=1
1s b link to=a seq=1
2s a link to=b seq=2
2s b link to=a seq=2`, ""},
		{"an up and a down ahead", `
1s a link to=b seq=1
2s a link to=b seq=2`, ""},
		{"three ahead", `
1s a link to=b seq=1
2s a link to=b seq=2
3s a link to=b seq=3`, "has made 3 transitions"},
		{"another incarnation is another history", `
1s a link to=b seq=1
1s b link to=a seq=1
2s a link to=b seq=2
3s a link to=b/2 seq=1
4s a link to=b/2 seq=2`, ""},
		{"one's own incarnation too", `
1s a link to=b seq=1
2s a link to=b seq=2
3s a/2 link to=b seq=1`, ""},
	})
}

func TestTransitionsAreOneSequence(t *testing.T) {
	checkCases(t, func(Truth) Checker { return NewSequence() }, []traceCase{
		{"up, down, up", `
1s a link to=b seq=1 why=tin
2s a link to=b seq=2 why=tout
3s a link to=b seq=3 why=followed`, ""},
		{"one left out", `
1s a link to=b seq=1 why=tin
2s a link to=b seq=3 why=followed`, "transition 3 of its link to b/1 after 1"},
		{"one twice", `
1s a link to=b seq=1 why=tin
2s a link to=b seq=1 why=tin`, "after 1"},
		{"contact takes it down", `
1s a link to=b seq=1 why=followed
2s a link to=b seq=2 why=tin`, "takes the link down"},
		{"silence takes it up", `1s a link to=b seq=1 why=tout`, "takes the link up"},
		{"the next incarnation", `
1s a link to=b seq=1 why=tin
2s a link to=b seq=2 why=restarted
2s a link to=b/2 seq=1 why=tin`, ""},
		{"the next incarnation in the middle of a session", `
1s a link to=b seq=1 why=tin
2s a link to=b/2 seq=1 why=tin`, "the link of a to incarnation 1 never went down"},
		{"an earlier incarnation comes back", `
1s a link to=b/2 seq=1 why=tin
2s a link to=b seq=1 why=tin`, "after one to incarnation 2"},
	})
}

func TestWhatOneEndFindsOutMakesOneTransitionAtEach(t *testing.T) {
	const contact = `
0.5s b deliver to=a
0.6s a deliver to=b`
	checkCases(t, func(t Truth) Checker { return NewSingle(t) }, []traceCase{
		{"after the other", contact + `
1s a link to=b seq=1 why=tin
2s b link to=a seq=1 why=followed`, ""},
		{"both by themselves", contact + `
0.7s b deliver to=a
1s a link to=b seq=1 why=tin
2s b link to=a seq=1 why=tin`, ""},
		{"before the other", contact + `
1s a link to=b seq=1 why=tin
2s b link to=a seq=1 why=followed
3s b link to=a seq=2 why=followed`, "follows transition 2"},
		{"without having heard anything", `
1s a link to=b seq=1 why=tin`, "takes its link to b/1 up, although since 0s"},
		{"without having been heard", `
0.5s a deliver to=b
1s a link to=b seq=1 why=tin`, "nothing has gone there and back"},
		{"up again by what was said before it went down", contact + `
1s a link to=b seq=1 why=tin
2s a link to=b seq=2 why=tout
2s a link to=b seq=3 why=tin`, "takes its link to b/1 up, although since 2s"},
		{"up again by what was said after it", contact + `
1s a link to=b seq=1 why=tin
2s a link to=b seq=2 why=tout
2.1s b deliver to=a
2.2s a deliver to=b
2.2s a link to=b seq=3 why=tin`, ""},
		{"a peer that restarts may have heard something", contact + `
1s a link to=b seq=1 why=tin
2s a link to=b seq=2 why=restarted
2s a link to=b/2 seq=1 why=tin`, ""},
		{"a member that restarts has heard nothing", contact + `
1s a/2 restart
2s a/2 link to=b seq=1 why=tin`, "since 1s"},
	})
}

func TestALinkWithoutContactIsDownWithinTout(t *testing.T) {
	const up = `
1s b deliver to=a
1s a deliver to=b
1s a link to=b seq=1`
	checkCases(t, func(t Truth) Checker {
		return NewSevered(t, 200*time.Millisecond, 100*time.Millisecond, 10*time.Millisecond)
	}, []traceCase{
		{"down in time", up + `
1.205s a link to=b seq=2
2s c start`, ""},
		{"contact goes on", up + `
1.1s b deliver to=a
1.1s a deliver to=b
1.3s c start`, ""},
		{"down too late", up + `
1.211s c start`, "the link of a to b is up"},
		{"being heard is not contact", up + `
1.1s b deliver to=a
1.211s b deliver to=a`, "is up 201ms after a last heard from it"},
		{"hearing is, for a while", up + `
1.1s a deliver to=b
1.2s a deliver to=b
1.309s a deliver to=b`, ""},
		{"but not for long", up + `
1.1s a deliver to=b
1.2s a deliver to=b
1.311s a deliver to=b`, "is up 301ms after a was last heard by it"},
		{"by a slow clock", "clock a -10000ppm" + up + `
1.211s c start
1.212s a link to=b seq=2`, ""},
		{"by a fast clock", "clock a 10000ppm" + up + `
1.209s c start
1.21s a link to=b seq=2`, "is up 200.99ms"},
		{"dead ends have no links", up + `
1.1s a crash
2s c start`, ""},
		{"at the end of the run", up + `
1.205s c start
1.212s c start`, "is up"},
	})
}

func TestAProcessThatStoodStillHasTimeToTakeItsLinkDown(t *testing.T) {
	for _, c := range []struct {
		name string
		kind sim.Kind
		at   int
		want bool
	}{{"just resumed", sim.Pause, 1305, true}, {"long resumed", sim.Pause, 1289, false}, {"just jumped", sim.Jump, 1305, true},
		{"other faults are no excuse", sim.Cut, 1305, false}} {
		s := NewSevered(parse(t, ""), 200*time.Millisecond, 100*time.Millisecond, 10*time.Millisecond)
		heal := sim.Record{T: at(c.at), Node: protocol.Nobody}
		heal.Ev, heal.Detail = sim.EvHeal, sim.Fault{Kind: c.kind, A: 0}
		s.heard[way(5, 0, 1)], s.heard[way(5, 1, 0)], s.up[way(5, 0, 1)] = at(1000), at(1000), true
		s.looked = at(1305)
		if err := s.Observe(&heal); err != nil {
			t.Fatal(err)
		}
		if err := s.look(at(1310)); (err == nil) != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestAMemberWithAnOldRecordHasNoLinks has a find out that its record is an old copy: it has no link to b from then on.
func TestAMemberWithAnOldRecordHasNoLinks(t *testing.T) {
	for why, want := range map[string]bool{staleRecord: true, "restarted": false} {
		s := NewSevered(parse(t, ""), 200*time.Millisecond, 100*time.Millisecond, 10*time.Millisecond)
		s.heard[way(5, 0, 1)], s.heard[way(5, 1, 0)], s.up[way(5, 0, 1)] = at(1000), at(1000), true
		s.looked = at(1100)
		wait := sim.Record{T: at(1100)}
		wait.Ev, wait.Why = protocol.EvWait, why
		if err := s.Observe(&wait); err != nil {
			t.Fatal(err)
		}
		if err := s.look(at(1310)); (err == nil) != want {
			t.Errorf("%s: %v", why, err)
		}
	}
}

func TestMessagesStayInTheirSession(t *testing.T) {
	const both = `
1s a link to=b seq=1
1s b link to=a seq=1
1s a post to=b seq=1 term=1 gen=10
1s a post to=b seq=2 term=1 gen=20`
	checkCases(t, func(t Truth) Checker { return NewInSession(t, 100*time.Millisecond) }, []traceCase{
		{"in order", both + `
2s b take to=a seq=1 term=1 gen=10
2s b take to=a seq=2 term=1 gen=20`, ""},
		{"none at all", both, ""},
		{"out of order", both + `
2s b take to=a seq=2 term=1 gen=20`, "takes number 2 of session 1 from a/1 after 0"},
		{"twice", both + `
2s b take to=a seq=1 term=1 gen=10
2s b take to=a seq=1 term=1 gen=10`, "after 1"},
		{"not what was sent", both + `
2s b take to=a seq=1 term=1 gen=20`, "takes 20 for number 1"},
		{"never sent", both + `
2s b take to=a seq=1 term=1 gen=10
2s b take to=a seq=2 term=1 gen=20
2s b take to=a seq=3 term=1`, "posted no such message"},
		{"after the receiver went down", both + `
2s b link to=a seq=2
3s b take to=a seq=1 term=1 gen=10`, "in which it is not"},
		{"after the sender went down, which the receiver cannot know", both + `
2s a link to=b seq=2
3s b take to=a seq=1 term=1 gen=10`, ""},
		{"in a later session", both + `
2s a link to=b seq=2
2s b link to=a seq=2
3s a link to=b seq=3
3s b link to=a seq=3
3s b take to=a seq=1 term=3 gen=10`, "posted no such message"},
		{"posted while down", both + `
2s a link to=b seq=2
2s a post to=b seq=1 term=2`, "in which it is not"},
		{"numbers start over", both + `
2s a link to=b seq=2
2s a link to=b seq=3
2s a post to=b seq=3 term=3`, "posts number 3 of session 3 to b/1, after 0"},
		{"on its way for too long when all is well", both + `
2s - phase why=liveness members=ab
3s b take to=a seq=1 term=1 gen=10`, "number 2 of session 1 from a/1 to b/1 has been on its way for 2s"},
		{"the end of its session is an excuse", both + `
2s - phase why=liveness members=ab
3s b link to=a seq=2`, ""},
	})
}

func TestInTheEndTheCoreIsConnected(t *testing.T) {
	const healed = `
1s - phase why=liveness members=ab
1.1s a link to=b seq=1
1.1s b link to=a seq=1`
	checkCases(t, func(t Truth) Checker { return NewConnected(t, time.Second) }, []traceCase{
		{"all is well", healed + `
3s c start`, ""},
		{"nobody came up", `
1s - phase why=liveness members=ab
3s c start`, "a is at 0 of its link to b/1"},
		{"one end did not", `
1s - phase why=liveness members=ab
1.1s a link to=b seq=1
3s c start`, "which is at 0"},
		{"one end is ahead", healed + `
1.2s a link to=b seq=2
1.3s a link to=b seq=3
3s c start`, "a is at 3"},
		{"it does not stay so", healed + `
2.5s a link to=b seq=2 why=tout`, "makes transition 2 of its link to b/1 (tout)"},
		{"one who does not know who it is has no links", `
0.5s b/0 restart
1s - phase why=liveness members=ab
3s c start`, ""},
		{"a link to one who is not there", healed + `
1.3s a link to=c seq=1
3s c start`, "which is down"},
		{"at the end of the run", `
1s - phase why=liveness members=ab
1.5s c start
2s c start`, "a is at 0"},
	})
}
