//go:build !linux

package address

import (
	"errors"
	"time"
)

// Supported says why addresses cannot move on this system.
var Supported = errors.New("addresses that move need Linux: the kernel of this system does not remove an address by itself when the process that refreshes it stops")

// A Place is where the kernel has an address.
type Place struct{ Forever bool }

// Interface names the interface.
func (p Place) Interface() string { return "" }

// Find says that it cannot be done; so do the others.
func (a Address) Find() ([]Place, error)              { return nil, Supported }
func (a Address) Set(time.Duration) error             { return Supported }
func (a Address) Delete() error                       { return Supported }
func (a Address) Announce() error                     { return Supported }
func (a Address) Probe(time.Duration) (string, error) { return "", Supported }

// MayChange says that this process may not.
func MayChange() bool { return false }
