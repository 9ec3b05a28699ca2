package suite_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// TestTheEndOfAnotherProgramIsNotTheEndOfThisOne has a member find out that its leave is over in the very step in which the program of another group says
// that it has stopped. The program of the consistent group still has to.
func TestTheEndOfAnotherProgramIsNotTheEndOfThisOne(t *testing.T) {
	m, err := lookup(t, "rain gated").Spawn(sim.Boot{Members: 1, Inc: 1})
	if err != nil {
		t.Fatal(err)
	}
	n := drivetest.NewNet(t, 1, 1, time.Millisecond)
	n.Start(0, m, 1)
	n.Step(0, protocol.Campaign{Group: suite.RainGroup})
	n.Run(2 * time.Second)
	if v := n.Members[0].Views[suite.RainGroup]; v.Agreed == nil {
		t.Fatalf("the member is in no view: %+v", v)
	}
	n.Now = n.Now.Add(10 * time.Second) // it was not run
	n.Step(0, protocol.Stopped{Group: "another"})
	if v := n.Members[0].Views[suite.RainGroup]; v.Agreed != nil || !v.Stop {
		t.Fatalf("the member lives on: %+v", v)
	}
	n.Run(2 * time.Second)
	if v := n.Members[0].Views[suite.RainGroup]; v.Agreed == nil {
		t.Errorf("its program never said that it has stopped: %+v", v)
	}
}
