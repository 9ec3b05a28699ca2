//go:build !linux

package thread

import "errors"

// Claim is for systems whose threads are not waited on precisely: there is nothing to claim.
func Claim(realtime bool) (Scheduling, error) {
	if realtime {
		return Ordinary, errors.ErrUnsupported
	}
	return Ordinary, nil
}

// NameProcess does nothing: processes have the name of their executable.
func NameProcess(string) {}
