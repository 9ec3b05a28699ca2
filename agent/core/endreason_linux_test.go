package core

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

// unread notifies a program that reads nothing: there is no later end that it was told.
type unread struct{ silence }

func (v *unread) Renewed(*Candidate) {}

// The cause that all members are told is one word. The agent of the program knows how it came to that, and its history says so.
func TestHistoryAtHomeSaysHowALeadershipEnded(t *testing.T) {
	a := Joined(t)
	quiet := func() (Notifier, *silence) { v := &silence{led: make(chan struct{})}; return v, v }
	says := func(k *Candidate) {
		k.ReportStopped(protocol.Cause{Peer: protocol.Nobody}, NewOrder(regent.Cause{}, ""))
	}
	operator := func(k *Candidate) {
		go func() {
			_ = a.Order(context.Background(), k, NewOrder(regent.Cause{Why: why.Resigned, Member: a.Name}, ""))
		}()
	}
	for name, c := range map[string]struct {
		heartbeat, grace time.Duration
		deaf, runner     bool
		end              func(*Candidate)
		want             string
		cause            why.Kind // of the change, as all members see it; zero: Resigned
	}{
		"stops":      {end: says, want: "the program said that it has stopped"},
		"dies":       {end: (*Candidate).MarkDead, want: "the program died"},
		"goodbye":    {end: (*Candidate).Goodbye, want: "the program said goodbye"},
		"runner":     {runner: true, end: (*Candidate).MarkDead, want: "the program died; the agent has killed what was left of what it had started"},
		"hangs up":   {end: (*Candidate).Disconnect, want: "the connection to the program was closed, and its announced deadline passed"},
		"silent":     {heartbeat: 2 * time.Second, end: func(*Candidate) {}, want: "the program was silent for more than its heartbeat of 2s, and its announced deadline passed", cause: why.Unhealthy},
		"deaf":       {deaf: true, end: func(*Candidate) {}, want: "the program did not read what the agent sent, as one that is paused, and its announced deadline passed", cause: why.LeaseExpired},
		"frozen":     {deaf: true, runner: true, end: func(*Candidate) {}, want: "the program did not read what the agent sent, as one that is paused, and its announced deadline passed; the agent has killed what was left of what it had started", cause: why.LeaseExpired},
		"stubborn":   {grace: time.Millisecond, end: operator, want: "it was to be given up, as by 'regent resign': the program did not stop within its grace, and its announced deadline passed"},
		"dies asked": {grace: time.Hour, end: func(k *Candidate) { operator(k); <-stopping(k); k.MarkDead() }, want: "it was to be given up, as by 'regent resign': the program died"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			speaks, led := quiet()
			if c.deaf {
				speaks = &unread{*led}
			}
			p := Candidacy{Candidate: session.Candidate{Group: name, Name: "p", Heartbeat: c.heartbeat, Grace: c.grace}, Via: "socket", Notifier: speaks}
			if c.runner {
				p.Tree = a.Trees.Watch(name, tree.Ref{}, a.Timing.Guard)
				p.Tree.Look = func(context.Context) tree.Result { return proven }
			}
			k, err := a.AddCandidate(p)
			if err != nil {
				t.Fatal(err)
			}
			go k.Run()
			led.await(t, "the program", k)
			c.end(k)
			<-k.Ended
			// The lease may run out before the agent knows how it ended.
			var all []*api.Change
			cluster.Eventually(t, "the end is seen", func() bool {
				all = a.ChangeLog.History(name, 10)
				return len(all) > 1 && all[len(all)-1].Leader == "" && all[len(all)-2].Leader != "" && all[len(all)-1].Ended != ""
			})
			if got := all[len(all)-1].Ended; got != c.want {
				t.Errorf("the history says %q, want %q", got, c.want)
			}
			if got, want := all[len(all)-1].Cause.Why, cmp.Or(c.cause, why.Resigned); got != want {
				t.Errorf("the history has the cause %v, want %v", got, want)
			}
			for _, ch := range all[:len(all)-1] {
				if ch.Ended != "" {
					t.Errorf("before the end the history says %q", ch.Ended)
				}
			}
		})
	}
}

// stopping yields when the program was asked to stop.
func stopping(k *Candidate) <-chan struct{} {
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		for k.info().State != "stopping" {
			time.Sleep(time.Millisecond) // wall clock: a real agent does it when it does
		}
	}()
	return seen
}

// A note on a leadership is for its end and for no other change, however late or early it comes.
func TestNotesAreForTheLeadershipThatTheyAreOn(t *testing.T) {
	b := NewChangeLog(nil)
	last := func(group string) string { c, _ := b.Group(group); return c.Ended }
	b.recordEnd("g", 2, "before it was seen")
	b.AddView(regent.View{Mode: regent.Quorum, Group: "g", Leader: "b", Token: 1})
	b.AddView(regent.View{Mode: regent.Quorum, Group: "g"})
	b.AddView(regent.View{Mode: regent.Quorum, Group: "g", Leader: "a", Token: 2})
	b.AddView(regent.View{Mode: regent.Quorum, Group: "g", Leader: "a", Token: 2, Stopping: true})
	if got := last("g"); got != "" {
		t.Errorf("a leadership that goes on has ended: %s", got)
	}
	b.AddView(regent.View{Mode: regent.Quorum, Group: "g", Leader: "b", Token: 3})
	if got := last("g"); got != "before it was seen" {
		t.Errorf("the end is noted as %q", got)
	}
	b.AddView(regent.View{Mode: regent.Quorum, Group: "g"})
	shown, _ := b.Group("g")
	b.recordEnd("g", 3, "late")
	if got := last("g"); got != "late" || shown.Ended != "" {
		t.Errorf("an end that was shown already is noted as %q, and the change that others hold as %q", got, shown.Ended)
	}
	b.AddView(regent.View{Mode: regent.Quorum, Group: "g", Leader: "a", Token: 4})
	b.AddView(regent.View{Mode: regent.Quorum, Group: "g"})
	if got := last("g"); got != "" || len(b.endReasons) != 0 {
		t.Errorf("the note of another leadership: %q, and %d are kept", got, len(b.endReasons))
	}
	b.recordEnd("g", 3, "corrected")
	if got := last("g"); got != "" || len(b.endReasons) != 0 {
		t.Errorf("the note of an earlier leadership: %q, and %d are kept", got, len(b.endReasons))
	}
}
