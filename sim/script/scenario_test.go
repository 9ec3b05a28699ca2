package script_test

import (
	"testing"

	"github.com/regentproject/regent/sim/effort"
	"github.com/regentproject/regent/sim/script/scenariotest"
)

func TestScenarios(t *testing.T) {
	if effort.Raced() {
		scenariotest.Run(t, "testdata/rank/*.txt")
		return
	}
	scenariotest.Run(t, "testdata/*/*.txt")
}
