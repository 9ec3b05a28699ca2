package agent

import (
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/session"
)

func TestLogSaysThatAProgramStoppedWithItsAgent(t *testing.T) {
	r := open(t, 1, "").agents[0]
	l, err := r.dial(t).Campaign(patience(t), session.Candidate{Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	obey(l)
	r.stop()
	const want = `how="the agent was stopped: the program said that it has stopped"`
	cluster.Eventually(t, "the log says "+want, func() bool { return strings.Contains(r.log.String(), want) })
}
