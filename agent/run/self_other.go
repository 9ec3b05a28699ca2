//go:build !linux

package run

import "os"

// selfPath is this executable.
var selfPath, _ = os.Executable()
