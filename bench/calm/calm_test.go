package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/agent/plan"
)

func TestFlags(t *testing.T) {
	s, err := parse(nil, io.Discard)
	if err != nil || s.length != 15*time.Minute || s.load != 40 || len(contestants(s)) != 11 {
		t.Errorf("%+v, %v", s, err)
	}
	s, err = parse([]string{"-raft", "", "-groups", "0", "-profiles", "lan", "-scheduling", "ordinary"}, io.Discard)
	if err != nil || len(contestants(s)) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []string{"-profiles=slow", "-scheduling=idle", "-load=-1", "extra", "-for=soon"} {
		if _, err := parse([]string{bad}, io.Discard); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

// Changes are counted by who came to lead, and a fail-over from the death to the word of the next leader.
func TestWordsOfRaft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRaft(settings{}, "lan", 200*time.Millisecond)
		if r.heartbeat != 100*time.Millisecond || newRaft(settings{}, "fast", time.Millisecond).heartbeat != shortestHeartbeat {
			t.Errorf("time-out %v", r.heartbeat)
		}
		for _, line := range []string{"leads 1000 7", "nonsense", "leads x", "lost 2000", "leads 3000"} {
			r.take(1, line)
		}
		r.take(2, "lost 4000") // it did not lead
		if since, err := r.await(t.Context(), -1, 0); r.changes() != 2 || err != nil || since != 3000 {
			t.Errorf("%d changes, since %v, %v", r.changes(), since, err)
		}
		go func() {
			_ = sleep(context.Background(), time.Second)
			r.take(2, "leads 5000")
		}()
		if since, err := r.await(t.Context(), 1, 3500); err != nil || since != 5000 {
			t.Errorf("since %v, %v", since, err)
		}
		if _, err := r.await(t.Context(), 2, 0); err == nil {
			t.Error("it does not wait for another")
		}
	})
}

func TestSamples(t *testing.T) {
	if got := (sample{3e6, 1e6, 2e6}).String(); got != "2.0 ms in the median, 1.0 to 3.0 ms, of 3" {
		t.Error(got)
	}
	if got := (sample{}).String(); got != "-" {
		t.Error(got)
	}
}

// The bounds that are compared are those of the first measurement, at lengths that follow from the plan.
func TestThresholdsFollowFromThePlan(t *testing.T) {
	m := &plan.Measured{Pauses: []plan.Pauses{{Thread: plan.MemberThread, Load: plan.AsIs, For: time.Minute, Longest: 50e6, Buckets: []plan.Bucket{{Upper: 50e6, Count: 2}}}}}
	rows := thresholds(m, &plan.Plan{Tolerates: 100e6})
	if len(rows) != 6 || rows[0].above != 100e6 || rows[0].bound.Seen != 0 || rows[2].above != 25e6 || rows[2].bound.Seen != 2 || rows[2].bound.PerDay < 3*rows[2].bound.For.Minutes()*1440 {
		t.Errorf("%+v", rows)
	}
	if !strings.Contains(rows[0].bound.String(), "no pause above 100 ms") {
		t.Error(rows[0].bound)
	}
	later := &plan.Measured{Pauses: []plan.Pauses{{Thread: plan.MemberThread, Load: plan.AsIs, For: 5 * time.Minute, Longest: 150e6, Buckets: []plan.Bucket{{Upper: 150e6, Count: 15}}}}}
	rows[0].compare(later) // none in a minute allows 14.98 in five
	rows[2].compare(later) // two in a minute allow 31
	if rows[0].over != 1 || rows[2].over != 0 || rows[0].allowed < 14.9 || rows[0].allowed > 15 {
		t.Errorf("%+v", rows)
	}
	rows[0].compare(later) // as many again: above the plan's bound, and not above that of the run before
	if rows[0].over != 2 || rows[0].overBefore != 1 {
		t.Errorf("%d runs above the bound of the plan, %d above that of the run before: want 2 and 1", rows[0].over, rows[0].overBefore)
	}
}
