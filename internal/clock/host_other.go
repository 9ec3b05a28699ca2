//go:build !linux

package clock

import (
	"errors"

	"github.com/regentproject/regent/internal/protocol"
)

var errNoHost = errors.New("this system has no clock that an agent and its programs could share: join the council instead")

// HostLow would read the clock of the host.
func HostLow() (protocol.Time, error) { return 0, errNoHost }

// HostHigh would read the clock of the host.
func HostHigh() (protocol.Time, error) { return 0, errNoHost }
