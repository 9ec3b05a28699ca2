//go:build !linux

package process

import (
	"errors"
	"os"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/guardian"
	"github.com/regentproject/regent/internal/protocol"
)

// A Guardian is what this system does not have.
type Guardian struct{}

var errNone = errors.New("guardian: this system has none: it needs Linux")

// Start reports that there is none.
func Start(int, bool) (*Guardian, error) { return nil, errNone }

// The following are never called.

func (g *Guardian) Page() *guardian.Page                     { return nil }
func (g *Guardian) Prove(clock.Clock, protocol.Time) error   { return errNone }
func (g *Guardian) Tell([]Voter) error                       { return errNone }
func (g *Guardian) Entrust(uint64, *os.File, *os.File) error { return errNone }
func (g *Guardian) Ended() <-chan struct{}                   { return nil }
func (g *Guardian) Err() error                               { return errNone }
func (g *Guardian) Pid() int                                 { return 0 }
func (g *Guardian) Close() error                             { return errNone }
