//go:build !linux && !darwin && !windows

package clock

import (
	"fmt"
	"runtime"
)

func system() (source, error) {
	return source{}, fmt.Errorf("clock: no clock of %s is known to count suspend and to run undisciplined: run members on Linux, macOS or Windows", runtime.GOOS)
}
