package agent

import "testing"

// Commands judge whether enough members are well by the number that the agent sends.
func TestAnAgentSendsHowManyVotesAreNeeded(t *testing.T) {
	for file, want := range map[string]float64{"": 2, "quorum_votes: 3\n": 3} {
		a := open(t, 3, file).agents[0]
		for _, path := range []string{"/v1/members", "/v1/status"} {
			if _, body := a.get(t, path); body["quorum_votes"] != want {
				t.Errorf("%q: %s says that %v votes are needed, want %v", file, path, body["quorum_votes"], want)
			}
		}
	}
}
