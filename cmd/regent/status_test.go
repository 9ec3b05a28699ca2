package main

import (
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/api"
)

// What is wrong is said with what to do, and what is not is not said.
func TestStatusJudges(t *testing.T) {
	timing := api.TimingInfo{Lease: 200 * time.Millisecond, Renew: 50 * time.Millisecond, Guard: 20 * time.Millisecond, RoundTrip: 20 * time.Millisecond, Delay: 5 * time.Millisecond}
	self := api.MemberInfo{Name: "a", Self: true, Heard: true}
	near := func(name, role string) api.MemberInfo {
		return api.MemberInfo{Name: name, Role: role, Addr: name + ":7400", Heard: true, Trusted: true, Incarnation: 3, RoundTrip: time.Millisecond, Bound: time.Millisecond}
	}
	away := func(name, role string) api.MemberInfo {
		return api.MemberInfo{Name: name, Role: role, Addr: name + ":7400"}
	}
	slow := near("b", "")
	slow.RoundTrip = 30 * time.Millisecond
	silent := near("c", "witness")
	silent.Silence = time.Minute
	dead := near("b", "")
	dead.Trusted, dead.Silence = false, 1500*time.Millisecond
	fresh := near("c", "")
	fresh.Trusted, fresh.Silence = false, 5*time.Millisecond
	deaf := near("b", "")
	deaf.Deaf, deaf.Unconfirmed = true, 4*time.Second
	nameless := near("c", "")
	nameless.Incarnation = 0
	for _, c := range []struct {
		name    string
		status  api.StatusInfo
		members []api.MemberInfo
		want    []string // in this order, and no others
	}{
		{"all is well", api.StatusInfo{Joined: true}, []api.MemberInfo{self, near("b", ""), near("w", "witness"), near("o", "observer")}, nil},
		{"a clock beyond its bound", api.StatusInfo{ClockFault: true}, []api.MemberInfo{self}, []string{"the clock runs at another rate than those of a majority: this member leads nothing until it is right; see whether its time is kept"}},
		{"a full disk", api.StatusInfo{Disk: "no space left"}, []api.MemberInfo{self}, []string{"the durable record cannot be written: no space left"}},
		{"pauses", api.StatusInfo{Pauses: api.PauseInfo{P99: 111 * time.Millisecond}}, []api.MemberInfo{self}, []string{"cost it its leases, which survive 110ms"}},
		{"a slow path", api.StatusInfo{}, []api.MemberInfo{self, slow, near("c", "")}, []string{"b is slow: a round trip by way of b:7400 takes 30ms, above the 20ms"}},
		{"a silent witness", api.StatusInfo{}, []api.MemberInfo{self, near("b", ""), silent}, []string{"c (c:7400): silent for 1m"}},
		{"a member that died just now", api.StatusInfo{}, []api.MemberInfo{self, dead, near("c", "")}, []string{"b (b:7400): silent for 1.5s"}},
		{"a member that came just now", api.StatusInfo{}, []api.MemberInfo{self, near("b", ""), fresh}, nil},
		{"a link that works in one direction", api.StatusInfo{}, []api.MemberInfo{self, deaf, near("c", "")}, []string{"b (b:7400): b does not hear us: it has confirmed nothing for 4s"}},
		{"members without an incarnation do not count", api.StatusInfo{}, []api.MemberInfo{self, deaf, nameless},
			[]string{"1 of 3 members that vote are well, and 2 are needed", "b does not hear us", "c (c:7400): does not take part: it has no incarnation yet"}},
		{"a host that is not listed", api.StatusInfo{Unlisted: []string{"d (10.0.0.4:7400)"}}, []api.MemberInfo{self, near("b", ""), near("c", "")},
			[]string{"d (10.0.0.4:7400) has the cluster key and is not in this member's council"}},
		{"a host that nobody lists", api.StatusInfo{Member: "a"}, []api.MemberInfo{self, away("b", ""), away("c", "")},
			[]string{"1 of 3", "does council in their files list this member, a,", "b (b:7400): not heard yet", "c (c:7400): not heard yet"}},
		{"observers do not make a majority", api.StatusInfo{}, []api.MemberInfo{self, away("b", ""), away("c", "witness"), near("o", "observer"), near("p", "observer")},
			[]string{"1 of 3 members that vote are well, and 2 are needed", "b (b:7400): not heard yet", "c (c:7400): not heard yet"}},
		{"nor do they keep one away", api.StatusInfo{}, []api.MemberInfo{self, near("b", ""), away("o", "observer"), away("p", "observer"), away("q", "observer")},
			[]string{"o (o:7400): not heard yet", "p (p:7400)", "q (q:7400)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := statusReport{StatusInfo: c.status, Members: c.members}
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
