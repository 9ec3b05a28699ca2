package agent

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/tenure"
)

// deaf is a client that has hung up before it is answered.
type deaf struct{ httptest.ResponseRecorder }

func (*deaf) FlushError() error { return errors.New("broken pipe") }

func TestStreamToAClientThatHasHungUpIsNotCounted(t *testing.T) {
	a := &Agent{}
	a.file.Store(&config.File{Limits: config.Limits{Streams: 1}})
	for range 3 {
		if _, err := a.open(&deaf{}); err == nil || !strings.Contains(err.Error(), "broken pipe") {
			t.Errorf("a stream to nobody: %v", err)
		}
	}
	if n := a.streams.Load(); n != 0 {
		t.Errorf("%d streams are counted, and none is open", n)
	}
}

// Whoever orders something at the moment at which a leadership ends gets an answer, even if nobody has seen the order.
func TestOrderThatComesTooLateIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &candidate{agent: new(Agent), group: "g", ended: make(chan struct{})}
		k.life = party.New(party.Options{Clock: clock.Package(), Do: func(tenure.Effect) {}})
		k.life.Give(tenure.Event{Kind: tenure.ProgramStopped})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := k.agent.order(ctx, k, newOrder(regent.Cause{}, ""))
		var known *httpError
		if !errors.As(err, &known) || known.status != http.StatusConflict || !strings.Contains(err.Error(), "no program here leads it any more") {
			t.Fatalf("got %v", err)
		}
	})
}

// The change log learns of a change later than who ordered it. What is said about the order must not be what was before.
func TestOutcomeNeverNamesTheLeadershipThatWasEnded(t *testing.T) {
	view := func(leader string, token uint64) regent.View {
		return regent.View{Group: "g", Leader: leader, Token: token}
	}
	for _, c := range []struct {
		name, to string
		later    []regent.View
		want     Outcome
	}{
		{"resigned, nobody leads", "", []regent.View{view("", 0)}, Outcome{Group: "g"}},
		{"resigned, another leads", "", []regent.View{view("b", 8)}, Outcome{Group: "g", Leader: "b", Token: 8}},
		{"resigned, the change log is late", "", nil, Outcome{Group: "g"}},
		{"resigned, the same leads again", "", []regent.View{view("a", 9)}, Outcome{Group: "g", Leader: "a", Token: 9}},
		{"transferred", "b", []regent.View{view("", 0), view("b", 8)}, Outcome{Group: "g", Leader: "b", Token: 8}},
		{"transferred, the change log is late", "b", []regent.View{view("", 0)}, Outcome{Group: "g", Leader: "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &Agent{changes: newChangeLog()}
				a.changes.addView(view("a", 7))
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				got := make(chan Outcome, 1)
				go func() { got <- a.leaderAfter(ctx, "g", 7, c.to) }()
				synctest.Wait()
				select {
				case o := <-got:
					t.Fatalf("said before the change log knew: %+v", o)
				default:
				}
				for _, v := range c.later {
					a.changes.addView(v)
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
	k := &candidate{group: "g"}
	a := &Agent{changes: newChangeLog(), leaders: map[string]*candidate{"g": k}}
	if got, err := a.leaderOfGroup("g", 0, ""); got != k || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestStreamsEndWithTheirReaders(t *testing.T) {
	r := open(t, 1, "default_group: g\n").agents[0]
	paths := []string{"/v1/events", "/v1/groups/g/events", "/sse", "/v1/groups/g/sse"}
	var all []*events
	for _, path := range paths {
		all = append(all, r.stream(t, "GET", path, ""))
	}
	all = append(all, r.stream(t, "POST", "/v1/groups/g/campaign", "{}"))
	watchers := func() int {
		r.agent.changes.mu.RLock()
		defer r.agent.changes.mu.RUnlock()
		return len(r.agent.changes.watchers)
	}
	cluster.Eventually(t, "all streams are open", func() bool {
		return r.agent.streams.Load() == int64(len(all)) && watchers() == len(paths) && len(r.agent.candidateList()) == 1
	})
	for _, e := range all {
		e.cancel()
	}
	campaigns := func() int {
		r.agent.streamCampaigns.mu.Lock()
		defer r.agent.streamCampaigns.mu.Unlock()
		return len(r.agent.streamCampaigns.all)
	}
	cluster.Eventually(t, "all streams are closed", func() bool {
		return r.agent.streams.Load() == 0 && watchers() == 0 && len(r.agent.candidateList()) == 0 && campaigns() == 0
	})
}
