//go:build !linux

package cluster

import (
	"errors"
	"time"
)

// Record is for Linux.
func Record(time.Duration, func(Recorded) bool) error {
	return errors.New("record packets: only on Linux")
}
