package script_test

import (
	"testing"

	"github.com/regentproject/regent/internal/sim/script/storytest"
)

func TestStories(t *testing.T) { storytest.Run(t, "testdata/*/*.txt") }
