//go:build !linux

package processes

import (
	"github.com/regentproject/regent/agent/run/address"
	"github.com/regentproject/regent/internal/tenure"
)

func mayHold(tenure.Identity, []string) error { return address.Supported }

// ErrNoHolder says that the agent may not change addresses.
var ErrNoHolder = address.Supported

// A Holder is a process that cannot be here.
type Holder struct{}

// StartHolder says that it cannot be done.
func StartHolder([]string, func(string, bool)) (*Holder, error) { return nil, address.Supported }

// Stop does nothing.
func (h *Holder) Stop(string) {}

// Kill does nothing.
func (h *Holder) Kill() {}

// Wait returns at once.
func (h *Holder) Wait() int { return -1 }
