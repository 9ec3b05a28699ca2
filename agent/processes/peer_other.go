//go:build !linux

package processes

import (
	"context"
	"errors"
	"net"

	"github.com/regentproject/regent/internal/tenure"
)

// A Peer is the process at the other end of a connection. Here nothing is known about it, so none is ever proven dead.
type Peer struct{ Pid, UID int }

// PeerOf returns an error.
func PeerOf(net.Conn) (*Peer, error) { return nil, errors.New("unknown on this system") }

// Identity returns an error.
func (p *Peer) Identity() (tenure.Identity, error) {
	return tenure.Identity{}, errors.New("unknown on this system")
}

// User knows nobody.
func User(net.Conn) (uid int, ok bool) { return 0, false }

// LimitSendBuffer does nothing.
func LimitSendBuffer(net.Conn) {}

// IsDying says no.
func (p *Peer) IsDying() bool { return false }

// AwaitDeath says no.
func (p *Peer) AwaitDeath(context.Context) bool { return false }

// Close does nothing.
func (p *Peer) Close() {}
