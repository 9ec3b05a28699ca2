package agent

import (
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/session"
)

func TestLeadingProgramsLearnOfAMemberThatIsBack(t *testing.T) {
	t.Parallel()
	h := open(t, 3, "")
	a, c := h.agents[0], h.agents[2]
	stream := a.stream(t, "POST", "/v1/groups/over-http/campaign", "{}")
	stream.await("leads", nil)
	l, err := a.dial(t).Campaign(patience(t), session.Candidate{Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	trusts := func() bool {
		return slices.ContainsFunc(a.agent.core.Members(), func(m regent.PeerStatus) bool { return m.Name == "c" && m.Trusted })
	}
	cluster.Eventually(t, "a trusts c", trusts)
	time.Sleep(time.Second) // wall clock: the agent has to have seen that once
	c.stop()
	<-c.done
	cluster.Eventually(t, "a trusts c no more", func() bool { return !trusts() })
	time.Sleep(time.Second) // wall clock: and that
	select {
	case <-l.Healed():
		t.Fatal("told that a member is back when it went")
	default:
	}
	c.start(t)
	select {
	case <-l.Healed():
	case <-time.After(20 * time.Second):
		t.Fatal("not told that c is back")
	}
	if e := stream.await("healed", nil); e["back"] != "c" {
		t.Errorf("healed: %v", e)
	}
}
