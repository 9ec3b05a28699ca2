package agent

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

// unread notifies a program that reads nothing: there is no later end that it was told.
type unread struct{ silence }

func (v *unread) renewed(*candidate) {}

// The cause that all members are told is one word. The agent of the program knows how it came to that, and its history says so.
func TestHistoryAtHomeSaysHowALeadershipEnded(t *testing.T) {
	a := open(t, 1, "").agents[0].agent
	quiet := func() (notifier, *silence) { v := &silence{led: make(chan struct{})}; return v, v }
	says := func(k *candidate) {
		k.reportStopped(protocol.Cause{Peer: protocol.Nobody}, newOrder(regent.Cause{}, ""))
	}
	operator := func(k *candidate) { go func() { _ = a.Resign(context.Background(), k.group) }() }
	for name, c := range map[string]struct {
		heartbeat, grace time.Duration
		deaf, runner     bool
		end              func(*candidate)
		want             string
		cause            why.Kind // of the change, as all members see it; zero: Resigned
	}{
		"stops":      {end: says, want: "the program said that it has stopped"},
		"dies":       {end: (*candidate).markDead, want: "the program died"},
		"goodbye":    {end: (*candidate).goodbye, want: "the program said goodbye"},
		"runner":     {runner: true, end: (*candidate).markDead, want: "the program died; the agent has killed what was left of what it had started"},
		"hangs up":   {end: (*candidate).disconnect, want: "the connection to the program was closed, and the end that it had been told passed"},
		"silent":     {heartbeat: 2 * time.Second, end: func(*candidate) {}, want: "the program was silent for more than its heartbeat of 2s, and the end that it had been told passed", cause: why.Unhealthy},
		"deaf":       {deaf: true, end: func(*candidate) {}, want: "the program did not read what it was told, as one that is paused, and the end that it had been told passed", cause: why.LeaseExpired},
		"frozen":     {deaf: true, runner: true, end: func(*candidate) {}, want: "the program did not read what it was told, as one that is paused, and the end that it had been told passed; the agent has killed what was left of what it had started", cause: why.LeaseExpired},
		"stubborn":   {grace: time.Millisecond, end: operator, want: "it was to be given up, as by 'regent resign': the program did not stop within its grace, and the end that it had been told passed"},
		"dies asked": {grace: time.Hour, end: func(k *candidate) { operator(k); <-stopping(k); k.markDead() }, want: "it was to be given up, as by 'regent resign': the program died"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			speaks, led := quiet()
			if c.deaf {
				speaks = &unread{*led}
			}
			k := &candidate{group: name, program: "p", via: "socket", notifier: speaks, heartbeat: c.heartbeat, grace: c.grace}
			if c.runner {
				k.tree = newWatchedTree(a, name, tree.Ref{}, a.timing.Guard)
				k.tree.look = func(context.Context) tree.Result { return proven }
			}
			if err := a.addCandidate(k); err != nil {
				t.Fatal(err)
			}
			go k.run()
			led.await(t, "the program", k)
			c.end(k)
			<-k.ended
			// The lease may run out before the agent knows how it ended.
			var all []*Change
			cluster.Eventually(t, "the end is seen", func() bool {
				all = a.changes.history(name, 10)
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
func stopping(k *candidate) <-chan struct{} {
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		for k.info().State != "stopping" {
			time.Sleep(time.Millisecond) // wall clock: a real agent does it when it does
		}
	}()
	return seen
}

func TestLogSaysThatAProgramStoppedWithItsAgent(t *testing.T) {
	r := open(t, 1, "").agents[0]
	l, err := r.dial(t).Campaign(patience(t), session.Candidate{Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	obey(l)
	r.stop()
	const want = `how="the agent was stopped: the program said that it has stopped"`
	cluster.Eventually(t, "the log says "+want, func() bool { return strings.Contains(r.log.String(), want) })
}

// A note on a leadership is for its end and for no other change, however late or early it comes.
func TestNotesAreForTheLeadershipThatTheyAreOn(t *testing.T) {
	b := newChangeLog()
	last := func(group string) string { c, _ := b.group(group); return c.Ended }
	b.recordEnd("g", 2, "before it was seen")
	b.addView(regent.View{Mode: regent.Quorum, Group: "g", Leader: "b", Token: 1})
	b.addView(regent.View{Mode: regent.Quorum, Group: "g"})
	b.addView(regent.View{Mode: regent.Quorum, Group: "g", Leader: "a", Token: 2})
	b.addView(regent.View{Mode: regent.Quorum, Group: "g", Leader: "a", Token: 2, Stopping: true})
	if got := last("g"); got != "" {
		t.Errorf("a leadership that goes on has ended: %s", got)
	}
	b.addView(regent.View{Mode: regent.Quorum, Group: "g", Leader: "b", Token: 3})
	if got := last("g"); got != "before it was seen" {
		t.Errorf("the end is noted as %q", got)
	}
	b.addView(regent.View{Mode: regent.Quorum, Group: "g"})
	shown, _ := b.group("g")
	b.recordEnd("g", 3, "late")
	if got := last("g"); got != "late" || shown.Ended != "" {
		t.Errorf("an end that was shown already is noted as %q, and the change that others hold as %q", got, shown.Ended)
	}
	b.addView(regent.View{Mode: regent.Quorum, Group: "g", Leader: "a", Token: 4})
	b.addView(regent.View{Mode: regent.Quorum, Group: "g"})
	if got := last("g"); got != "" || len(b.endReasons) != 0 {
		t.Errorf("the note of another leadership: %q, and %d are kept", got, len(b.endReasons))
	}
	b.recordEnd("g", 3, "corrected")
	if got := last("g"); got != "" || len(b.endReasons) != 0 {
		t.Errorf("the note of an earlier leadership: %q, and %d are kept", got, len(b.endReasons))
	}
}
