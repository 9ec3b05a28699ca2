//go:build !linux

package tree

import (
	"github.com/regentproject/regent/agent/run/address"
)

// Succeeded says no: no address moves on this system.
func (r *Ref) Succeeded(address.Address) bool { return false }

// Successors says no of all addresses.
func Successors() func(address.Address) bool { return func(address.Address) bool { return false } }
