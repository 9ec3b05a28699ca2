//go:build !linux

package runtime

import "errors"

// ClaimThread is for systems whose threads are not waited on precisely: there is nothing to claim.
func ClaimThread(realtime bool) (Scheduling, error) {
	if realtime {
		return Ordinary, errors.ErrUnsupported
	}
	return Ordinary, nil
}

// NewPollWaiter is for Linux.
func NewPollWaiter(...int) (Waiter, error) { return nil, errors.ErrUnsupported }
