package api

import (
	"strings"
	"time"

	"github.com/regentproject/regent/roster"
)

// CouncilOrder is the body of a change of the council.
type CouncilOrder struct {
	roster.Change
	// DryRun has the agent answer what would come, and change nothing.
	DryRun bool `json:"dry_run,omitempty"`
	// Yes carries out a change after which the council tolerates no failure.
	Yes bool `json:"yes,omitempty"`
	// Sites names the data centre of members, for the forecast.
	Sites map[string]string `json:"sites,omitempty"`
	// Wait is how long the answer may wait for the end of the change. The change goes on without it.
	Wait time.Duration `json:"wait_ns,omitempty"`
}

// String says in words what the order asks for: "add d, remove c".
func (o *CouncilOrder) String() string {
	var all []string
	say := func(what string, names []string) {
		if len(names) > 0 {
			all = append(all, what+" "+strings.Join(names, " "))
		}
	}
	if o.DryRun {
		all = append(all, "dry run")
	}
	if o.Cancel {
		all = append(all, "cancel")
	}
	say("add", namesOf(o.Add))
	say("remove", o.Remove)
	say("set", namesOf(o.Set))
	if o.Timing != nil {
		all = append(all, "timing "+o.Timing.String())
	}
	return strings.Join(all, ", ")
}

func namesOf(peers []roster.Peer) (names []string) {
	for i := range peers {
		names = append(names, peers[i].Name)
	}
	return names
}

// CouncilInfo is the council as this member knows it, and what became of an order.
type CouncilInfo struct {
	roster.Council
	// Voters and Tolerates are of the members in force: how many vote, and how many of these may fail.
	Voters    int `json:"voters"`
	Tolerates int `json:"tolerates"`
	// Done says that the change that was asked for is over.
	Done bool `json:"done,omitempty"`
	// Forecast is what a change that was asked for would do.
	Forecast *roster.Forecast `json:"forecast,omitempty"`
}

// RecoverOrder is the body of an order to give the council up, which has lost a majority of its voters for good.
type RecoverOrder struct {
	roster.Recovery
	// Wait is how long the answer may wait until the new council can elect.
	Wait time.Duration `json:"wait_ns,omitempty"`
}

// RecoverInfo is what became of such an order.
type RecoverInfo struct {
	roster.Outlook
	// Unpromised says what can no longer be promised.
	Unpromised []string `json:"unpromised"`
	// Done says that the new council can elect, or that the others were only asked and agree.
	Done bool `json:"done,omitempty"`
}

// AcknowledgeOrder is the body of an order to take note of what can no longer be promised. It says nothing.
type AcknowledgeOrder struct{}
