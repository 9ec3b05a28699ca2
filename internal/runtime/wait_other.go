//go:build !linux

package runtime

import "errors"

// NewPollWaiter is for Linux.
func NewPollWaiter(...int) (Waiter, error) { return nil, errors.ErrUnsupported }
