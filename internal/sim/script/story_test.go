package script_test

import (
	"testing"

	"github.com/regentproject/regent/internal/sim/race"
	"github.com/regentproject/regent/internal/sim/script/storytest"
)

func TestStories(t *testing.T) {
	if race.Enabled {
		storytest.Run(t, "testdata/rank/*.txt")
		return
	}
	storytest.Run(t, "testdata/*/*.txt")
}
