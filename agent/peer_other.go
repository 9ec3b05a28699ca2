//go:build !linux

package agent

import (
	"context"
	"errors"
	"net"

	"github.com/regentproject/regent/internal/tenure"
)

// A peer is the process at the other end of a connection. Here nothing is known about it, so none is ever proven dead.
type peer struct{ pid, uid int }

func peerOf(net.Conn) (*peer, error) { return nil, errors.New("unknown on this system") }

func (p *peer) identity() (tenure.Identity, error) {
	return tenure.Identity{}, errors.New("unknown on this system")
}

// localClient knows no more than that the socket let the client in.
func localClient(net.Conn) *client { return &client{local: true, role: writer} }

func peerUser(net.Conn) (uid int, ok bool) { return 0, false }

func limitSendBuffer(net.Conn) {}

func (p *peer) isDying() bool { return false }

func (p *peer) awaitDeath(context.Context) bool { return false }

func (p *peer) close() {}
