package session

import (
	"reflect"
	"testing"
	"time"

	"github.com/regentproject/regent/view"
)

func TestCampaignCarriesAllThatACandidateAsksFor(t *testing.T) {
	all := Candidate{Group: "g", Mode: view.Local, Lease: 1, Name: "n", Value: "v", Heartbeat: 2, Grace: 3, Page: true, Silence: 4,
		Claim: &Tree{Mark: "m", Runner: 5, Cgroup: "c"}, Guard: 6, Hooks: 7, Secret: "s"}
	fields := reflect.ValueOf(all)
	for i := range fields.NumField() {
		if fields.Field(i).IsZero() {
			t.Errorf("the test leaves %s out", fields.Type().Field(i).Name)
		}
	}
	got := all.request().Candidate()
	all.Silence = 0 // the connection turns it into a heartbeat
	if !reflect.DeepEqual(got, all) {
		t.Errorf("the agent reads %+v, want %+v", got, all)
	}
}

func TestLongHeartbeatSparesSignsOfLifeOfProgramsOnly(t *testing.T) {
	for _, c := range []struct {
		what            string
		of              Candidate
		heartbeat, want time.Duration
	}{
		{"a program", Candidate{}, 8 * time.Second, 8 * time.Second},
		{"a program with a short one", Candidate{}, time.Second, time.Second},
		{"a runner", Candidate{Claim: new(Tree)}, 8 * time.Second, keeperHeartbeat},
		{"a runner with a short one", Candidate{Claim: new(Tree)}, time.Second, time.Second},
	} {
		if got := c.of.beatWithin(c.heartbeat); got != c.want {
			t.Errorf("%s: two signs of life within %v, want %v", c.what, got, c.want)
		}
	}
}
