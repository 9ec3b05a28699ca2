package library_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"

	"github.com/regentproject/regent/why"
)

func TestLeadCampaignsAgainAfterEachLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		signs := h.leadAll(ctx, "g")
		last := uint64(0)
		for range 6 {
			s := <-signs
			if !s.leads || s.token <= last {
				t.Fatalf("got %+v after token %d: want a leader with a higher one", s, last)
			}
			last = s.token
			h.must(h.Link("cut " + s.who + " *"))
			h.must(h.Link("cut * " + s.who))
			stop := <-signs // nobody leads before the old leader has stopped
			var done regent.Cause
			if stop.leads || stop.who != s.who || !errors.As(stop.cause, &done) || done.Why != why.LeaseExpired {
				t.Fatalf("got %+v: want %s to stop", stop, s.who)
			}
			h.must(h.Link("heal * *"))
		}
		cancel()
	})
}

func TestLeadEndsWithItsFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		m, bad := h.members["b"], errors.New("enough")
		err := must(m.Group("g")).Lead(t.Context(), func(context.Context, *regent.Lease) error { return bad })
		if !errors.Is(err, bad) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if v := view(must(m.Group("g"))); v.Leader != "" || v.Cause.Why != why.Resigned {
			t.Errorf("the group was not given up: %v", v)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_ = must(m.Group("g")).Lead(t.Context(), func(context.Context, *regent.Lease) error { panic("boom") })
		}()
		if v := view(must(m.Group("g"))); v.Leader != "" {
			t.Errorf("the group was not given up: %v", v)
		}
	})
}

func TestLeadEndsWithItsContextAndOnlyWhenTheFunctionHasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		ctx, cancel := context.WithCancel(t.Context())
		signs := make(chan sign, 10)
		done := make(chan error, 1)
		go func() {
			done <- must(h.members["a"].Group("g")).Lead(ctx, func(ctx context.Context, l *regent.Lease) error {
				signs <- sign{leads: true}
				<-ctx.Done()
				time.Sleep(time.Minute) // it takes its time
				if !l.Valid() {
					t.Error("the lease was given up under the function")
				}
				signs <- sign{}
				return nil
			})
		}()
		<-signs
		other := make(chan *regent.Lease, 1)
		go func() { l, _ := must(h.members["b"].Group("g")).Campaign(t.Context()); other <- l }()
		cancel()
		time.Sleep(30 * time.Second)
		if len(other) != 0 {
			t.Fatal("another leads while the function has not returned")
		}
		<-signs
		l := <-other
		if err := <-done; err != nil {
			t.Errorf("got %v", err)
		}
		if err := l.Resign(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestTransferSaysWhatCameOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, three...)
		ctx := t.Context()
		l, err := must(h.members["a"].Group("g")).Campaign(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Transfer(ctx, "nobody"); err == nil {
			t.Error("handed over to nobody")
		}
		if err := l.Transfer(ctx, "c"); err == nil || !strings.Contains(err.Error(), "no program campaigns") || !l.Valid() {
			t.Errorf("got %v, valid %v: want it refused, and the lease kept", err, l.Valid())
		}
		if err := l.Transfer(ctx, "a"); err == nil || !strings.Contains(err.Error(), "a leads it already") || !l.Valid() {
			t.Errorf("to itself: got %v, valid %v", err, l.Valid())
		}
		if err := l.CanTransfer(ctx, "c"); err == nil || !strings.Contains(err.Error(), "no program campaigns") {
			t.Errorf("asked first: %v", err)
		}
		next := make(chan *regent.Lease, 1)
		go func() { l, _ := must(h.members["c"].Group("g")).Campaign(ctx); next <- l }()
		go func() { _, _ = must(h.members["b"].Group("g")).Campaign(ctx) }()
		time.Sleep(time.Second)
		if err := l.CanTransfer(ctx, "c"); err != nil || !l.Valid() || l.Cause() != (regent.Cause{}) {
			t.Errorf("asked first: %v, valid %v", err, l.Valid())
		}
		if err := l.Transfer(ctx, "c"); err != nil || l.Valid() {
			t.Errorf("got %v, valid %v", err, l.Valid())
		}
		c := <-next
		time.Sleep(time.Second) // until b has heard of it
		if c.Token() <= l.Token() || leader(must(h.members["b"].Group("g"))) != "c" {
			t.Errorf("token %d after %d; b sees %v", c.Token(), l.Token(), view(must(h.members["b"].Group("g"))))
		}
		if err := l.Transfer(ctx, "b"); !errors.Is(err, regent.ErrNotLeader) {
			t.Errorf("a lease that is over: %v", err)
		}
		_ = c.Resign(ctx)
	})
}
