package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/socket"
	"github.com/regentproject/regent/why"
)

// dialled connects a program by the public package.
func (r *testAgent) dialled(t *testing.T) *regent.Client {
	t.Helper()
	c, err := regent.Dial(patience(t), r.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestGoProgramLeadsThroughTheAgentAsIfItWereAMember(t *testing.T) {
	h := open(t, 3, "")
	first, second := h.agents[0].dialled(t), h.agents[1].dialled(t)
	if first.Name() != "a" {
		t.Errorf("name %s", first.Name())
	}
	leads, next := make(chan uint64, 1), make(chan uint64, 1)
	ctx, cancel := context.WithCancel(patience(t))
	over := make(chan error, 2)
	go func() {
		over <- must(first.Group("g")).Lead(ctx, func(ctx context.Context, l *regent.Lease) error {
			e, err := l.Edict(ctx)
			if err != nil || e.Token() != l.Token() || !l.Valid() || l.Remaining() <= 0 || l.Group() != "g" {
				t.Errorf("edict %v of a lease with token %d: %v", e, l.Token(), err)
			}
			leads <- l.Token()
			<-ctx.Done()
			return nil
		})
	}()
	token := <-leads
	cluster.Eventually(t, "b has heard of the leader, and proves it", func() bool {
		p, err := must(second.Group("g")).Verify(patience(t))
		return err == nil && p.Leader == "a" && p.Token == token && p.Valid()
	})
	if v := must(must(first.Group("g")).View(patience(t))); v.Leader != "a" || !v.Mine || v.Token != token {
		t.Errorf("view %v", v)
	}
	go func() {
		l, err := must(second.Group("g")).Campaign(patience(t))
		if err != nil {
			t.Error(err)
			next <- 0
			return
		}
		next <- l.Token()
	}()
	cancel()
	if err := <-over; err != nil {
		t.Errorf("lead returned %v", err)
	}
	if later := <-next; later <= token {
		t.Errorf("the next token is %d, after %d", later, token)
	}
	if _, err := must(second.Group("nobody")).Verify(patience(t)); !errors.Is(err, regent.ErrNoLeader) {
		t.Errorf("verify of a group without a leader: %v", err)
	}
	if _, err := first.Group(""); err == nil {
		t.Error("a group without a name can be led")
	}
}

func TestClientWatchesAndTransfers(t *testing.T) {
	h := open(t, 3, "")
	first, second := h.agents[0].dialled(t), h.agents[1].dialled(t)
	l, err := must(first.Group("g")).Campaign(patience(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Transfer(patience(t), "b"); err == nil || !l.Valid() {
		t.Errorf("handed over to a member where nobody campaigns: %v, valid %v", err, l.Valid())
	}
	if err := l.CanTransfer(patience(t), "b"); err == nil || !strings.Contains(err.Error(), "no program campaigns") {
		t.Errorf("asked whether it could be: %v", err)
	}
	if err := l.Transfer(patience(t), "z"); err == nil || !strings.Contains(err.Error(), `no member "z" in the council`) || !l.Valid() {
		t.Fatalf("handed over to nobody: %v, valid %v", err, l.Valid())
	}
	got := make(chan *regent.Lease, 1)
	go func() {
		m, err := must(second.Group("g")).Campaign(patience(t))
		if err != nil {
			t.Error(err)
		}
		got <- m
	}()
	ctx, cancel := context.WithCancel(patience(t))
	defer cancel()
	views := make(chan regent.View, 16)
	go func() {
		defer close(views)
		for v := range must(second.Group("g")).Watch(ctx) {
			views <- v
		}
	}()
	for v := range views { // b may not have heard of anybody at first
		if v.Leader == "a" {
			break
		}
	}
	cluster.Eventually(t, "b campaigns", func() bool { return l.CanTransfer(patience(t), "b") == nil })
	if !l.Valid() || l.Cause() != (regent.Cause{}) {
		t.Error("a question has ended the leadership")
	}
	if err := l.Transfer(patience(t), "b"); err != nil && !strings.Contains(err.Error(), "b has not taken it yet") { // on a host that was paused meanwhile
		t.Error(err)
	}
	m := <-got
	if m.Token() <= l.Token() || l.Valid() {
		t.Errorf("tokens %d, %d; old lease valid %v", l.Token(), m.Token(), l.Valid())
	}
	for v := range views {
		if v.Leader == "b" {
			break
		}
	}
	cancel()
	for range views {
	}
}

func TestClientIsAskedWhenItsAgentStopsAndGoesOnWhenItIsBack(t *testing.T) {
	h := open(t, 3, "stop_grace: 5s\n")
	a := h.agents[0]
	c := a.dialled(t)
	turns := make(chan regent.Cause, 4)
	led := make(chan struct{}, 4)
	ctx, cancel := context.WithCancel(patience(t))
	over := make(chan error, 1)
	go func() {
		over <- must(c.Group("g")).Lead(ctx, func(ctx context.Context, l *regent.Lease) error {
			led <- struct{}{}
			<-ctx.Done()
			turns <- l.Cause()
			return nil
		})
	}()
	<-led
	a.stop()
	if cause := <-turns; cause.Why != why.Closed {
		t.Errorf("told to stop because of %v", cause)
	}
	if err := <-a.done; err != nil {
		t.Errorf("the agent did not leave in good order: %v", err)
	}
	a.start(t)
	a.await(t)
	select {
	case <-led:
	case <-time.After(20 * time.Second):
		t.Fatal("never led again")
	}
	cancel()
	<-turns
	if err := <-over; err != nil {
		t.Errorf("lead returned %v", err)
	}
}

// A watch that the agent refuses reports it, and can begin again when there is room.
func TestWatchReportsThatTheAgentRefusesIt(t *testing.T) {
	h := open(t, 1, "")
	client := h.agents[0].dialled(t)
	if _, err := must(client.Group("g")).Campaign(patience(t)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(patience(t))
	defer cancel()
	var watching sync.WaitGroup
	for i := range socket.MaxWatches {
		watching.Add(1)
		go func() {
			first := sync.OnceFunc(watching.Done)
			for range must(client.Group(fmt.Sprint(i))).Watch(ctx) {
				first()
			}
		}()
	}
	watching.Wait()
	g := must(client.Group("g"))
	for v, err := range g.Watch(patience(t)) {
		if err == nil || v.Leader != "" || !strings.Contains(err.Error(), "too many watches") {
			t.Errorf("the agent has no room: %v, %v", v, err)
		}
	}
	cancel() // makes room
	cluster.Eventually(t, "there is room for another watch", func() bool {
		for v, err := range g.Watch(patience(t)) {
			return err == nil && v.Leader == "a"
		}
		return false
	})
}

// A call that the agent refuses for good reports that at once. A call without a leader waits for one.
func TestCallReportsThatTheAgentRefusesIt(t *testing.T) {
	t.Parallel()
	client := open(t, 1, "groups: [{name: cache, mode: local}]\n").agents[0].dialled(t)
	answer := func(context.Context, *regent.Proof) error { return nil }
	ctx := patience(t)
	if err := must(client.Group("cache")).Call(ctx, answer); ctx.Err() != nil || err == nil || !strings.Contains(err.Error(), "cache is local: no leader of it can be proven") {
		t.Errorf("in a local group: %v", err)
	}
	called := make(chan error, 1)
	go func() { called <- must(client.Group("g")).Call(ctx, answer) }()
	if _, err := must(client.Group("g")).Verify(ctx); !errors.Is(err, regent.ErrNoLeader) {
		t.Errorf("without a leader: %v", err)
	}
	if _, err := must(client.Group("g")).Campaign(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-called; err != nil {
		t.Errorf("a leader came, and the call ends with %v", err)
	}
}
