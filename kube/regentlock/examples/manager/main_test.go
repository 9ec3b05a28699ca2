package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/kube/regentlock"
)

// Managers of controller-runtime at three members: one runs its controllers. It is cut off, and its Start returns with an error, as with any lock. Then
// another runs its own. The managers have no API server to talk to, and need none for that.
func TestManagersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := []string{"a", "b", "c"}
		c := cluster.Open(t, cluster.Options{Names: names, Hosts: cluster.Memory, Seed: 1})
		if err := c.JoinAll(t.Context(), names...); err != nil {
			t.Fatal(err)
		}
		type event struct {
			who  string
			runs bool
			at   time.Time
			err  error
		}
		events := make(chan event, 100)
		ctx, cancel := context.WithCancel(t.Context())
		locks := map[string]*regentlock.Lock{}
		for _, name := range names {
			g, err := c.Member(name).Group("g")
			if err != nil {
				t.Fatal(err)
			}
			locks[name], err = regentlock.New(g, regentlock.Config{Identity: name})
			if err != nil {
				t.Fatal(err)
			}
			o := options(locks[name])
			o.Metrics = server.Options{BindAddress: "0"}
			m, err := manager.New(&rest.Config{Host: "http://127.0.0.1:1"}, o)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Add(manager.RunnableFunc(func(ctx context.Context) error {
				events <- event{who: name, runs: true, at: time.Now()}
				<-ctx.Done()
				return nil
			})); err != nil {
				t.Fatal(err)
			}
			go func() { events <- event{who: name, err: m.Start(ctx), at: time.Now()} }()
		}
		first := <-events
		if !first.runs {
			t.Fatalf("%+v", first)
		}
		time.Sleep(time.Minute)
		if err := c.Cut(first.who); err != nil {
			t.Fatal(err)
		}
		ended, next := <-events, <-events
		if ended.who != first.who || ended.err == nil || !next.runs || next.who == first.who || next.at.Before(ended.at) {
			t.Errorf("after %+v: %+v, %+v", first, ended, next)
		}
		cancel()
		for range 2 {
			if e := <-events; e.runs || e.err != nil {
				t.Errorf("%+v", e)
			}
		}
		if !locks[next.who].Lease().Valid() {
			t.Error("the group was given up before the manager reported that its controllers have stopped")
		}
		if err := locks[next.who].Stopped(t.Context()); err != nil || locks[next.who].Lease() != nil {
			t.Errorf("%v, lease %v", err, locks[next.who].Lease())
		}
	})
}
