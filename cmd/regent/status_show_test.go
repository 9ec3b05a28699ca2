package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/roster"
)

// normalStatus is of a host in a council of five, of which one is silent and one does not hear this one, that leads ten groups.
func normalStatus() *statusReport {
	s := &statusReport{AgentStatus: api.AgentStatus{Status: regent.Status{Name: "host1", Incarnation: 91045958858, CouncilID: "c0ffee00c0ffee00c0ffee00c0ffee00", Leading: 10,
		PauseP99: 229 * time.Microsecond, PauseLongest: 3130 * time.Microsecond, PauseDay: 3130 * time.Microsecond, PauseDayAt: time.Now(), Realtime: true, PacketsIn: 272_000, PacketsOut: 310_000},
		Joined: true, Started: time.Now().Add(-time.Hour), Version: "v0.1.0", Sessions: 12,
		Timing: api.TimingInfo{Lease: 5 * time.Second, Renew: 1250 * time.Millisecond, Guard: 20 * time.Millisecond, Tolerates: 3700 * time.Millisecond, Survives: 3700 * time.Millisecond,
			FailOver: 5301 * time.Millisecond, RoundTrip: 20 * time.Millisecond, Delay: 5 * time.Millisecond}}}
	s.Council = &api.CouncilInfo{Council: roster.Council{Settled: true, Since: time.Now().Add(-time.Hour)}, Voters: 5, Tolerates: 2}
	s.Members = []regent.PeerStatus{{Name: "host1", Self: true, Heard: true, Votes: 1}}
	for i := 2; i <= 5; i++ {
		m := regent.PeerStatus{Name: fmt.Sprintf("host%d", i), Heard: true, Trusted: true, Incarnation: 3, Votes: 1, RoundTrip: 353 * time.Microsecond, Bound: 198 * time.Microsecond, Silence: 128 * time.Millisecond, Addr: addrOf("b")}
		s.Members = append(s.Members, m)
	}
	s.Members[2].Silent, s.Members[2].Silence = true, 12600*time.Millisecond
	s.Members[3].Deaf, s.Members[3].Unconfirmed = true, 4*time.Second
	for i := range 10 {
		s.Programs = append(s.Programs, api.SessionInfo{Group: fmt.Sprintf("shop-%d", i), Program: "billing", State: "leading", Token: uint64(i + 1), Left: 4200 * time.Millisecond, Lease: 5 * time.Second, Since: time.Now()})
	}
	s.Programs = append(s.Programs, api.SessionInfo{Group: "a", State: "waiting"}, api.SessionInfo{Group: "b", State: "waiting"})
	s.Problems = s.findProblems()
	return s
}

func TestStatusFitsOneScreen(t *testing.T) {
	s := normalStatus()
	lines := s.screen(false, 80)
	text := strings.Join(lines, "\n")
	if len(lines) > 24 {
		t.Errorf("%d lines:\n%s", len(lines), text)
	}
	for _, line := range lines {
		if visible(line) > 80 {
			t.Errorf("%d columns: %s", visible(line), line)
		}
	}
	if !strings.HasPrefix(lines[1], "problem: host3 ") {
		t.Errorf("the first problem is not below the first line:\n%s", text)
	}
	for _, want := range []string{"host3   silent ", "host4   one way  128 ms ago  not for 4 s ", "host2   fast     128 ms ago  yes ", "leads 10 groups; 12 programs connected, of which 2 wait to lead",
		"shop-2  leading  3      4.20 s      5 s  ", "and 7 more: regent status --groups"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	s.whole = true
	if text := strings.Join(s.screen(false, 0), "\n"); !strings.Contains(text, "shop-9") || !strings.Contains(text, "waiting") || strings.Contains(text, "more:") {
		t.Errorf("--groups does not show all:\n%s", text)
	}
}

func TestStatusCutsALongListOfMembers(t *testing.T) {
	s := normalStatus()
	for i := 6; i <= 40; i++ {
		m := s.Members[1]
		m.Name = fmt.Sprintf("host%d", i)
		s.Members = append(s.Members, m)
	}
	s.Members[39].Silent, s.Members[39].Silence = true, time.Minute
	text := strings.Join(s.screen(false, 80), "\n")
	if !strings.Contains(text, "and 33 more: regent members") || !strings.Contains(text, "\nhost40 ") {
		t.Errorf("a silent member is not among those that are shown:\n%s", text)
	}
}
