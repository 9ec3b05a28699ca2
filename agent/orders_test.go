package agent

import (
	"testing"

	"github.com/regentproject/regent/agent/cluster"
)

func TestStreamsEndWithTheirReaders(t *testing.T) {
	r := open(t, 1, "default_group: g\n").agents[0]
	paths := []string{"/v1/events", "/v1/groups/g/events", "/sse", "/v1/groups/g/sse"}
	var all []*events
	for _, path := range paths {
		all = append(all, r.stream(t, "GET", path, ""))
	}
	all = append(all, r.stream(t, "POST", "/v1/groups/g/campaign", "{}"))
	watchers := r.agent.core.ChangeLog.Watching
	cluster.Eventually(t, "all streams are open", func() bool {
		return r.agent.core.OpenStreams() == int64(len(all)) && watchers() == len(paths) && len(r.agent.core.Candidates()) == 1
	})
	for _, e := range all {
		e.cancel()
	}
	campaigns := r.agent.web.Campaigns
	cluster.Eventually(t, "all streams are closed", func() bool {
		return r.agent.core.OpenStreams() == 0 && watchers() == 0 && len(r.agent.core.Candidates()) == 0 && campaigns() == 0
	})
}
