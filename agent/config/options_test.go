package config

import (
	"testing"

	"github.com/goccy/go-yaml"
)

// TestOptionsReachTheLibrary reads every option of local groups, electors and quorums from a file.
func TestOptionsReachTheLibrary(t *testing.T) {
	const text = `
name: a
profile: lan
council:
  - {name: a, address: "127.0.0.1:1", votes: 3}
local_majority: true
local_turns: 30
local_tree: 8
elector_faults: 1
elector_patience: 6
quorum_votes: 3
`
	var f File
	if err := yaml.Unmarshal([]byte(text), &f); err != nil {
		t.Fatal(err)
	}
	c, err := f.Regent()
	if err != nil {
		t.Fatal(err)
	}
	if !c.LocalMajority || c.LocalTurns != 30 || c.LocalTree != 8 || c.ElectorFaults != 1 || c.ElectorPatience != 6 || c.QuorumVotes != 3 || c.Council[0].Votes != 3 {
		t.Errorf("the member gets %+v", c)
	}
}
