package session

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/internal/tenure"
	"github.com/regentproject/regent/view"
	"github.com/regentproject/regent/why"
)

// fakeAgent is the agent's end of a connection, in the hands of a test.
type fakeAgent struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Scanner
}

// hostNow reads the clock of the host as agents do.
func hostNow(t *testing.T) protocol.Time {
	now, err := clock.HostLow()
	if err != nil {
		t.Error(err)
	}
	return now
}

// say writes a line; until and now of it are lengths from now on.
func (p *fakeAgent) say(e Event) {
	p.t.Helper()
	now := hostNow(p.t)
	if e.Until != 0 {
		e.Until += now
	}
	b, err := json.Marshal(e)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.conn.Write(append(b, '\n')); err != nil {
		p.t.Fatal(err)
	}
}

// hear returns the next request.
func (p *fakeAgent) hear(do string) Request {
	p.t.Helper()
	for p.in.Scan() {
		r, err := Decode(p.in.Bytes())
		if err != nil {
			p.t.Fatalf("the client said %s: %v", p.in.Text(), err)
		}
		if r.Do == do {
			return r
		}
	}
	p.t.Fatalf("the client never said %s", do)
	return Request{}
}

// connect makes a connection to a puppet that greets.
func connect(t *testing.T) (*Conn, *fakeAgent) {
	t.Helper()
	c, p, err := greet(t, func(e *Event) {})
	if err != nil {
		t.Fatal(err)
	}
	return c, p
}

// greet makes a connection to a puppet that greets in another way.
func greet(t *testing.T, other func(*Event)) (*Conn, *fakeAgent, error) {
	t.Helper()
	mine, its := net.Pipe()
	t.Cleanup(func() { _ = its.Close() })
	p := &fakeAgent{t: t, conn: its, in: bufio.NewScanner(its)}
	go func() {
		p.in.Scan()
		e := Event{Event: Hello, Version: Version, Member: "a", Now: hostNow(t), Guard: 20 * time.Millisecond, Renew: 50 * time.Millisecond}
		other(&e)
		b, _ := json.Marshal(e)
		_, _ = its.Write(append(b, '\n'))
	}()
	own, err := clock.System()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := New(ctx, mine, own)
	return c, p, err
}

func TestStrangeAgentsAreRefused(t *testing.T) {
	for want, other := range map[string]func(*Event){
		"speaks version 2": func(e *Event) { e.Version = 2 },
		"s after that of":  func(e *Event) { e.Now = e.Now.Add(time.Hour) },
		"s before that of": func(e *Event) { e.Now = e.Now.Add(-time.Hour) },
		"is no agent":      func(e *Event) { e.Event = "welcome" },
		"too many":         func(e *Event) { e.Event, e.Error = Failed, "too many connections" },
	} {
		if _, _, err := greet(t, other); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// An agent that has no room says so and hangs up, perhaps before the client has said a word.
func TestRefusalIsReadThoughNobodyListens(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	its, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_, err = its.Write([]byte(`{"event":"error","error":"too many connections"}` + "\n"))
	if err := errors.Join(err, its.Close()); err != nil {
		t.Fatal(err)
	}
	own, err := clock.System()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), conn, own); err == nil || !strings.Contains(err.Error(), "too many connections") {
		t.Errorf("got %v", err)
	}
}

// lead has a client lead for so long.
func lead(t *testing.T, c *Conn, p *fakeAgent, length time.Duration) *Lease {
	t.Helper()
	got := make(chan *Lease, 1)
	go func() {
		l, err := c.Campaign(context.Background(), Candidate{Group: "g", Name: "n", Grace: time.Second})
		if err != nil {
			t.Error(err)
		}
		got <- l
	}()
	r := p.hear(Campaign)
	if r.Group != "g" || r.Name != "n" || r.Grace != time.Second {
		t.Errorf("request %+v", r)
	}
	p.say(Event{Event: Waiting, ID: r.ID})
	p.say(Event{Event: Leads, ID: r.ID, Group: "g", Token: 7, Until: protocol.Time(length)})
	return <-got
}

// A process that was paused for longer than its heartbeat while it waited finds that its candidacy is over. It campaigns again.
func TestCampaignGoesOnAfterSilence(t *testing.T) {
	c, p := connect(t)
	got := make(chan error, 1)
	go func() {
		l, err := c.Campaign(context.Background(), Candidate{Group: "g"})
		if err == nil && l.Token() != 7 {
			err = fmt.Errorf("it leads with token %d", l.Token())
		}
		got <- err
	}()
	first := p.hear(Campaign)
	p.say(Event{Event: Waiting, ID: first.ID})
	p.say(Event{Event: Over, ID: first.ID, Group: "g", Cause: &why.Cause{Why: why.Unhealthy, Member: "a"}})
	go func() {
		second := p.hear(Campaign)
		if second.ID == first.ID {
			t.Errorf("both candidacies have the number %d", first.ID)
		}
		p.say(Event{Event: Leads, ID: second.ID, Group: "g", Token: 7, Until: protocol.Time(time.Minute)})
	}()
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// Whoever may not open the socket is not told to start the agent.
func TestAnAgentThatCannotBeReachedIsExplained(t *testing.T) {
	_, missing := Dial(t.Context(), t.TempDir()+"/no.sock")
	denied := unreachable("a.sock", &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.EACCES)})
	for err, want := range map[error]string{
		missing: "is it running? start it with 'regent agent'",
		denied:  "permission denied: be root, or of the group that owns the socket (socket.group in the configuration)",
	} {
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestLeaseEndsByItselfWhenNothingIsHeard(t *testing.T) {
	for _, silent := range []bool{true, false} {
		c, p := connect(t)
		start := time.Now()
		l := lead(t, c, p, 200*time.Millisecond)
		if !l.Valid() || !l.Guarded() || l.Token() != 7 || l.Group() != "g" {
			t.Fatalf("valid %v, guarded %v, token %d", l.Valid(), l.Guarded(), l.Token())
		}
		if !silent {
			_ = p.conn.Close() // the agent dies
		}
		<-l.Done()
		if took := time.Since(start); took < 150*time.Millisecond && silent || took > 5*time.Second {
			t.Errorf("told after %v", took)
		}
		if cause := l.Cause(); cause.Why != why.LeaseExpired || cause.Member != "a" {
			t.Errorf("cause %v", cause)
		}
		for l.Valid() {
			time.Sleep(time.Millisecond) // wall clock: the host's
		}
		if took := time.Since(start); took < 180*time.Millisecond {
			t.Errorf("over after %v", took)
		}
		if _, err := l.Edict(t.Context()); !errors.Is(err, stamp.ErrNotLeader) {
			t.Errorf("an edict after the end: %v", err)
		}
	}
}

func TestLeaseRunsAsLongAsTheAgentSays(t *testing.T) {
	c, p := connect(t)
	l := lead(t, c, p, 500*time.Millisecond)
	for range 8 {
		p.say(Event{Event: Until, IDs: []uint64{1}, Until: protocol.Time(2 * time.Second)}) // at once: a busy host pauses for long
		time.Sleep(80 * time.Millisecond)                                                   // wall clock: the host's
	}
	if !l.Guarded() {
		t.Errorf("asked to stop although it was renewed: %v", l.Cause())
	}
	// settle returns when the client has taken everything that was said so far: answers come in order.
	settle := func() {
		t.Helper()
		done := make(chan error, 1)
		go func() { _, err := c.View(context.Background(), "g"); done <- err }()
		p.say(Event{Event: Saw, ID: p.hear(View).ID, View: &view.View{}})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	settle()
	before := l.Until()
	p.say(Event{Event: Until, IDs: []uint64{1}, Until: protocol.Time(100 * time.Millisecond)})
	p.say(Event{Event: Until, IDs: []uint64{99}, Until: protocol.Time(time.Hour)})
	settle()
	if l.Until() != before {
		t.Errorf("the end moved by %v", l.Until().Sub(before))
	}
	told := make(chan struct{})
	l.OnDone(func() { close(told) })
	p.say(Event{Event: Stop, ID: 1, Cause: &why.Cause{Why: why.Closed, Member: "a"}, Until: protocol.Time(time.Second)})
	<-told
	if l.Cause().Why != why.Closed || !l.Valid() || l.Guarded() {
		t.Errorf("cause %v, valid %v, guarded %v", l.Cause(), l.Valid(), l.Guarded())
	}
	p.say(Event{Event: Over, ID: 1, Cause: &why.Cause{Why: why.Closed}})
	<-l.Over()
	if l.Valid() {
		t.Error("valid after it is over")
	}
}

func TestResignEndsTheLeaseBeforeTheAgentHearsOfIt(t *testing.T) {
	c, p := connect(t)
	l := lead(t, c, p, time.Hour)
	done := make(chan error, 1)
	go func() { done <- l.Resign(context.Background()) }()
	r := p.hear(Resign)
	if r.Of != 1 {
		t.Errorf("resigned of %d", r.Of)
	}
	if l.Valid() {
		t.Error("valid while it resigns")
	}
	p.say(Event{Event: Until, IDs: []uint64{1}, Until: protocol.Time(time.Hour)}) // it was on its way
	p.say(Event{Event: Done, ID: r.ID})
	if err := <-done; err != nil || l.Valid() {
		t.Errorf("resign %v, valid %v", err, l.Valid())
	}
}

// The agent learns of a cause that was corrected after it had heard of the end.
func TestCorrectedCauseIsReported(t *testing.T) {
	c, p := connect(t)
	l := lead(t, c, p, time.Hour)
	done := make(chan error, 1)
	go func() { done <- l.Resign(context.Background()) }()
	r := p.hear(Resign)
	p.say(Event{Event: Done, ID: r.ID})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	l.life.Give(tenure.Event{Kind: tenure.Freeze, Cause: protocol.Cause{Code: protocol.LeaseExpired, Peer: c.Self()}})
	if r := p.hear(Freeze); r.Of != 1 || r.Cause == nil || r.Cause.Why != why.LeaseExpired {
		t.Errorf("reported %+v", r)
	}
}

func TestTransferSaysWhetherItWasBegun(t *testing.T) {
	c, p := connect(t)
	l := lead(t, c, p, time.Hour)
	for _, e := range []Event{{Event: Done}, {Event: Failed, Error: "refused"}, {Event: Failed, Error: "c leads instead", Begun: true}} {
		type outcome struct {
			begun bool
			err   error
		}
		got := make(chan outcome, 1)
		go func() {
			begun, err := l.Transfer(context.Background(), "b")
			got <- outcome{begun, err}
		}()
		r := p.hear(Transfer)
		answer := e
		answer.ID = r.ID
		p.say(answer)
		o := <-got
		if o.begun != (e.Event == Done || e.Begun) || (o.err == nil) != (e.Event == Done) {
			t.Errorf("%+v: %+v", e, o)
		}
	}
}

func TestQuestionsAreAnsweredOrGivenUp(t *testing.T) {
	c, p := connect(t)
	ask := func(f func() error, do string, e Event) error {
		t.Helper()
		got := make(chan error, 1)
		go func() { got <- f() }()
		e.ID = p.hear(do).ID
		p.say(e)
		return <-got
	}
	if err := ask(func() error {
		v, err := c.View(context.Background(), "g")
		if v.Leader != "b" {
			t.Errorf("view %v", v)
		}
		return err
	}, View, Event{Event: Saw, View: &view.View{Leader: "b"}}); err != nil {
		t.Error(err)
	}
	if err := ask(func() error { _, err := c.View(context.Background(), "g"); return err }, View, Event{Event: Saw}); err == nil {
		t.Error("an answer without a view is taken for one")
	}
	if err := ask(func() error {
		p, err := c.Verify(context.Background(), "g")
		if p.Leader != "b" || p.Token != 3 || p.Until <= c.Now() {
			t.Errorf("proof %+v", p)
		}
		return err
	}, Verify, Event{Event: Proof, Leader: "b", Token: 3, Until: protocol.Time(time.Minute)}); err != nil {
		t.Error(err)
	}
	if err := ask(func() error { _, err := c.Verify(context.Background(), "g"); return err }, Verify,
		Event{Event: Failed, Error: "nobody", NoLeader: true}); !errors.Is(err, ErrNoLeader) {
		t.Errorf("verify without a leader: %v", err)
	}
	if err := ask(func() error { _, err := c.Campaign(context.Background(), Candidate{Group: "g"}); return err }, Campaign,
		Event{Event: Failed, Error: "limits.groups"}); err == nil || !strings.Contains(err.Error(), "limits.groups") {
		t.Errorf("a refused campaign: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	gave := make(chan error, 1)
	go func() { _, err := c.Campaign(ctx, Candidate{Group: "g"}); gave <- err }()
	id := p.hear(Campaign).ID
	cancel()
	if r := p.hear(Resign); r.Of != id {
		t.Errorf("gave up %d, not %d", r.Of, id)
	}
	if err := <-gave; !errors.Is(err, context.Canceled) {
		t.Errorf("a campaign that was given up: %v", err)
	}
}

func TestWatchEndsWithTheConnection(t *testing.T) {
	c, p := connect(t)
	seen := make(chan uint64, 8)
	over := make(chan error, 1)
	go func() {
		over <- c.Watch(context.Background(), "g", func(v view.View) bool { seen <- v.Token; return true })
	}()
	id := p.hear(Watch).ID
	for i := range uint64(3) {
		p.say(Event{Event: Saw, ID: id, View: &view.View{Token: i}})
	}
	for i := range uint64(3) {
		if got := <-seen; got != i {
			t.Errorf("view %d, want %d", got, i)
		}
	}
	_ = p.conn.Close()
	if err := <-over; !errors.Is(err, ErrGone) {
		t.Errorf("watch ended with %v", err)
	}
	if _, err := c.View(context.Background(), "g"); !errors.Is(err, ErrGone) {
		t.Errorf("a question after the end: %v", err)
	}
}

// A program that has closed its connection learns that, and not that the agent is lost.
func TestClosedConnectionSaysSo(t *testing.T) {
	c, p := connect(t)
	l := lead(t, c, p, time.Minute)
	go func() {
		p.hear(Bye)
		_ = p.conn.Close()
	}()
	_ = c.Close()
	if _, err := c.View(context.Background(), "g"); !errors.Is(err, stamp.ErrClosed) {
		t.Errorf("a question after the end: %v", err)
	}
	if err := l.Resign(context.Background()); err != nil {
		t.Errorf("nothing is left to give up: %v", err)
	}
}
