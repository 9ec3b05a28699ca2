package core

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/processes"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
)

// Whoever orders something at the moment at which a leadership ends gets an answer, even if nobody has seen the order.
func TestOrderThatComesTooLateIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &Candidate{agent: new(Agent), Candidacy: Candidacy{Candidate: session.Candidate{Group: "g"}}, Ended: make(chan struct{})}
		k.life = party.New(party.Options{Clock: clock.Package(), Do: func(tenure.Effect) {}})
		k.life.Give(tenure.Event{Kind: tenure.ProgramStopped})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := k.agent.Order(ctx, k, NewOrder(regent.Cause{}, ""))
		var known *api.Error
		if !errors.As(err, &known) || known.Status != http.StatusConflict || !strings.Contains(err.Error(), "no program here leads it any more") {
			t.Fatalf("got %v", err)
		}
	})
}

// The change log learns of a change later than who ordered it. What is said about the order must not be what was before.
func TestOutcomeNeverNamesTheLeadershipThatWasEnded(t *testing.T) {
	view := func(leader string, token uint64) regent.View {
		return regent.View{Mode: regent.Quorum, Group: "g", Leader: leader, Token: token}
	}
	for _, c := range []struct {
		name, to string
		later    []regent.View
		want     api.Outcome
	}{
		{"resigned, nobody leads", "", []regent.View{view("", 0)}, api.Outcome{Group: "g"}},
		{"resigned, another leads", "", []regent.View{view("b", 8)}, api.Outcome{Group: "g", Leader: "b", Token: 8}},
		{"resigned, the change log is late", "", nil, api.Outcome{Group: "g"}},
		{"resigned, the same leads again", "", []regent.View{view("a", 9)}, api.Outcome{Group: "g", Leader: "a", Token: 9}},
		{"transferred", "b", []regent.View{view("", 0), view("b", 8)}, api.Outcome{Group: "g", Leader: "b", Token: 8}},
		{"transferred, the change log is late", "b", []regent.View{view("", 0)}, api.Outcome{Group: "g", Leader: "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &Agent{ChangeLog: NewChangeLog(nil)}
				a.ChangeLog.AddView(view("a", 7))
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				got := make(chan api.Outcome, 1)
				go func() { got <- a.LeaderAfter(ctx, "g", 7, c.to) }()
				synctest.Wait()
				select {
				case o := <-got:
					t.Fatalf("said before the change log knew: %+v", o)
				default:
				}
				for _, v := range c.later {
					a.ChangeLog.AddView(v)
				}
				if o := <-got; o != c.want {
					t.Errorf("got %+v, want %+v", o, c.want)
				}
			})
		})
	}
}

// A client that goes away leaves nothing behind: no place among the streams, nobody whom changes are put aside for.
// A program that has just begun to lead may give orders though the news has not come round to its agent's change log.
func TestProgramGivesOrdersBeforeTheChangeLogHasHeardOfIt(t *testing.T) {
	k := &Candidate{Candidacy: Candidacy{Candidate: session.Candidate{Group: "g"}}}
	a := &Agent{ChangeLog: NewChangeLog(nil), leaders: map[string]*Candidate{"g": k}}
	if got, err := a.LeaderOfGroup("g", 0, ""); got != k || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// A runner that was cut off comes back on another connection: its next candidate waits for what the last one left.
func TestRunnerThatComesBackWaitsForItsLastCandidate(t *testing.T) {
	r := runners{last: make(map[tenure.Identity]*Candidate)}
	of := func(pid int) *Candidate {
		c := &Candidate{Candidacy: Candidacy{Tree: new(processes.Trees).Watch("g", tree.Ref{Ref: tenure.Ref{Runner: tenure.Identity{Pid: pid}}}, 0)}}
		r.add(c)
		return c
	}
	first, other, second := of(1), of(2), of(1)
	if first.after != nil || other.after != nil || second.after != first {
		t.Errorf("after %v, %v, %v", first.after, other.after, second.after)
	}
	r.remove(first)
	r.remove(second)
	r.remove(other)
	if len(r.last) != 0 || of(1).after != nil {
		t.Error("candidates are kept under which nothing is left")
	}
}

func TestMembersAreBackOnceTheyWereMissed(t *testing.T) {
	var r rejoinTracker
	for i, c := range []struct {
		b, c bool
		want []string
	}{{false, true, nil}, {true, true, nil}, {true, true, nil}, {true, false, nil}, {true, false, nil}, {true, true, []string{"c"}}, {true, true, nil}} {
		got := r.update([]regent.PeerStatus{{Name: "a", Self: true, Trusted: true}, {Name: "b", Trusted: c.b}, {Name: "c", Trusted: c.c}})
		if !slices.Equal(got, c.want) {
			t.Errorf("look %d: %v is back, want %v", i, got, c.want)
		}
	}
}
