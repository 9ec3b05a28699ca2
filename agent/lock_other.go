//go:build !unix

package agent

import "os"

// lockDir does nothing here: agents that start at once on one path differ by their directories and ports only.
func lockDir(string) (*os.File, error) { return nil, nil }
