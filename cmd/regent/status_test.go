package main

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
)

// addrOf returns an address for each letter.
func addrOf(name string) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, name[0] - 'a' + 1}), 7400)
}

// A script that waits goes on when the member votes and hears a majority, and not when the agent only answers.
func TestStatusWaitsForTheVote(t *testing.T) {
	self, other, away := regent.PeerStatus{Name: "a", Self: true, Heard: true, Trusted: true, Incarnation: 1}, regent.PeerStatus{Name: "b", Heard: true, Trusted: true, Incarnation: 1}, regent.PeerStatus{Name: "c"}
	few, enough := []regent.PeerStatus{self, away, away}, []regent.PeerStatus{self, other, away}
	answers := []statusReport{
		{}, // nobody answers
		{AgentStatus: api.AgentStatus{Status: regent.Status{Waiting: "it has just started"}, Joined: true}, Members: enough},
		{AgentStatus: api.AgentStatus{Joined: true}, Members: few},
		{AgentStatus: api.AgentStatus{Joined: true, Stopping: true}, Members: enough},
		{AgentStatus: api.AgentStatus{Status: regent.Status{QuorumVotes: 3}, Joined: true}, Members: enough},
		{AgentStatus: api.AgentStatus{Joined: true}, Members: enough},
	}
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		ask := func(context.Context) (statusReport, error) {
			asked++
			if asked == 1 {
				return statusReport{}, errors.New("no agent")
			}
			return answers[min(asked, len(answers))-1], nil
		}
		s, err := awaitVote(t.Context(), time.Minute, ask)
		if err != nil || !s.votes() || asked != len(answers) {
			t.Errorf("went on after %d answers: %+v, %v", asked, s, err)
		}
		began := time.Now()
		_, err = awaitVote(t.Context(), 3*statusInterval/2, func(context.Context) (statusReport, error) { return answers[1], nil })
		if took := time.Since(began); err != nil || took != 2*statusInterval {
			t.Errorf("gave up after %v: %v", took, err)
		}
	})
}

// What is wrong is said with what to do, and what is not is not said.
func TestStatusJudges(t *testing.T) {
	timing := api.TimingInfo{Lease: 200 * time.Millisecond, Renew: 50 * time.Millisecond, Guard: 20 * time.Millisecond, RoundTrip: 20 * time.Millisecond, Delay: 5 * time.Millisecond,
		Tolerates: 3 * time.Second, Survives: 110 * time.Millisecond}
	self := regent.PeerStatus{Name: "a", Self: true, Heard: true}
	near := func(name, role string) regent.PeerStatus {
		return regent.PeerStatus{Name: name, Role: role, Addr: addrOf(name), Heard: true, Trusted: true, Incarnation: 3, RoundTrip: time.Millisecond, Bound: time.Millisecond}
	}
	away := func(name, role string) regent.PeerStatus {
		return regent.PeerStatus{Name: name, Role: role, Addr: addrOf(name)}
	}
	slow := near("b", "")
	slow.RoundTrip = 30 * time.Millisecond
	silent := near("c", "witness")
	silent.Silent, silent.Silence = true, time.Minute
	dead := near("b", "")
	dead.Silent, dead.Silence = true, 1500*time.Millisecond
	fresh := near("c", "")
	fresh.Trusted, fresh.Silence = false, 5*time.Millisecond
	deaf := near("b", "")
	deaf.Deaf, deaf.Unconfirmed = true, 4*time.Second
	nameless := near("c", "")
	nameless.Incarnation = 0
	for _, c := range []struct {
		name    string
		status  api.AgentStatus
		members []regent.PeerStatus
		want    []string // in this order, and no others
	}{
		{"all is well", api.AgentStatus{Joined: true}, []regent.PeerStatus{self, near("b", ""), near("w", "witness"), near("o", "observer")}, nil},
		{"a clock beyond its bound", api.AgentStatus{Status: regent.Status{ClockFault: true}}, []regent.PeerStatus{self}, []string{"the clock runs at another rate than those of a majority: this member leads nothing until it is right; see whether its time is kept"}},
		{"a full disk", api.AgentStatus{Status: regent.Status{Disk: "no space left"}}, []regent.PeerStatus{self}, []string{"the durable record cannot be written: no space left"}},
		{"pauses", api.AgentStatus{Status: regent.Status{PauseP99: 111 * time.Millisecond}}, []regent.PeerStatus{self}, []string{"cost it its leases, which survive 110 ms"}},
		{"a slow path", api.AgentStatus{}, []regent.PeerStatus{self, slow, near("c", "")}, []string{"b is slow: a round trip by way of 10.0.0.2:7400 takes 30 ms, above the 20 ms"}},
		{"a silent witness", api.AgentStatus{}, []regent.PeerStatus{self, near("b", ""), silent}, []string{"c (10.0.0.3:7400): silent for 60 s"}},
		{"a member that died just now", api.AgentStatus{}, []regent.PeerStatus{self, dead, near("c", "")}, []string{"b (10.0.0.2:7400): silent for 1.50 s"}},
		{"a member that came just now", api.AgentStatus{}, []regent.PeerStatus{self, near("b", ""), fresh}, nil},
		{"a link that works in one direction", api.AgentStatus{}, []regent.PeerStatus{self, deaf, near("c", "")}, []string{"b (10.0.0.2:7400): b does not hear us: it has confirmed nothing for 4 s"}},
		{"members without an incarnation do not count", api.AgentStatus{}, []regent.PeerStatus{self, deaf, nameless},
			[]string{"1 of 3 members that vote are well, and 2 are needed", "b does not hear us", "c (10.0.0.3:7400): does not take part: it has no incarnation yet"}},
		{"a host that is not listed", api.AgentStatus{Status: regent.Status{Unlisted: []string{"d (10.0.0.4:7400)"}}}, []regent.PeerStatus{self, near("b", ""), near("c", "")},
			[]string{"d (10.0.0.4:7400) has the cluster key and is not in this member's council"}},
		{"a host that nobody lists", api.AgentStatus{Status: regent.Status{Name: "a"}}, []regent.PeerStatus{self, away("b", ""), away("c", "")},
			[]string{"1 of 3", "does council in their files list this member, a,", "b (10.0.0.2:7400): not heard yet", "c (10.0.0.3:7400): not heard yet"}},
		{"observers do not make a majority", api.AgentStatus{}, []regent.PeerStatus{self, away("b", ""), away("c", "witness"), near("o", "observer"), near("p", "observer")},
			[]string{"1 of 3 members that vote are well, and 2 are needed", "b (10.0.0.2:7400): not heard yet", "c (10.0.0.3:7400): not heard yet"}},
		{"a quorum of more than half", api.AgentStatus{Status: regent.Status{QuorumVotes: 4}}, []regent.PeerStatus{self, near("b", ""), near("c", ""), away("d", ""), away("e", "")},
			[]string{"3 of 5 members that vote are well, and 4 are needed", "d (10.0.0.4:7400): not heard yet", "e (10.0.0.5:7400): not heard yet"}},
		{"a quorum of more than half that is there", api.AgentStatus{Status: regent.Status{QuorumVotes: 4}}, []regent.PeerStatus{self, near("b", ""), near("c", ""), near("d", ""), away("e", "")},
			[]string{"e (10.0.0.5:7400): not heard yet"}},
		{"nor do they keep one away", api.AgentStatus{}, []regent.PeerStatus{self, near("b", ""), away("o", "observer"), away("p", "observer"), away("q", "observer")},
			[]string{"o (10.0.0.15:7400): not heard yet", "p (10.0.0.16:7400)", "q (10.0.0.17:7400)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := statusReport{AgentStatus: c.status, Members: c.members}
			s.Timing = timing
			got := s.findProblems()
			if len(got) != len(c.want) {
				t.Fatalf("said %q, want %q", got, c.want)
			}
			for i := range got {
				if !strings.Contains(got[i], c.want[i]) {
					t.Errorf("said %q, want %q", got[i], c.want[i])
				}
			}
		})
	}
}

// The longest pause of a day is named with its time, by the clock of the person who asks.
func TestTheLongestPauseOfTheDay(t *testing.T) {
	now := time.Date(2026, 11, 16, 15, 0, 0, 0, time.UTC)
	for want, at := range map[string]time.Time{
		"the longest today was 1.56 s, at 14:02":             time.Date(2026, 11, 16, 14, 2, 30, 0, time.UTC),
		"the longest in 24 h was 1.56 s, yesterday at 23:59": time.Date(2026, 11, 15, 23, 59, 0, 0, time.UTC),
	} {
		s := statusReport{AgentStatus: api.AgentStatus{Status: regent.Status{PauseDay: 1560 * time.Millisecond, PauseDayAt: at}}}
		if got := s.longestToday(now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for want, timing := range map[string]api.TimingInfo{
		"leases survive pauses of 3.70 s":                                             {Survives: 3700 * time.Millisecond},
		"leases survive pauses of 109 ms, as the shortest of a program here is 200ms": {Survives: 109 * time.Millisecond, ShortestLease: 200 * time.Millisecond},
	} {
		s := statusReport{AgentStatus: api.AgentStatus{Timing: timing}}
		if got := s.survives(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (&statusReport{}).longestToday(now); got != "" {
		t.Errorf("%q of nothing", got)
	}
}
