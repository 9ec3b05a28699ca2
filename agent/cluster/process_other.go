//go:build !linux

package cluster

import (
	"errors"
	"os"
	"os/exec"
)

// isolate has nothing to do: a member leaves when its input ends.
func isolate(*exec.Cmd) {}

// detach has nothing to do.
func detach(*exec.Cmd) {}

func suspend(*os.Process, bool) error {
	return errors.New("processes can be paused on Linux only")
}

// exists cannot tell.
func exists(int) bool { return true }
