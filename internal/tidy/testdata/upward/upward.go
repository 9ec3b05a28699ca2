// Package upward imports what some layers must not know.
package upward

import (
	_ "fmt"

	_ "pgregory.net/rapid"

	_ "github.com/regentproject/regent/internal/protocol"
	_ "github.com/regentproject/regent/internal/stamp"
)
