//go:build !linux

package run

import (
	"context"
	"errors"

	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/protocol"
)

// A keeper exists on Linux only.
type keeper struct{ gone chan struct{} }

const keeperName = "regent-keep"

func startKeeper(*runner) (*keeper, error) { return nil, errors.New("this system has no pidfds") }

func (k *keeper) prepare(context.Context, *life) (string, error) { return "", nil }
func (k *keeper) close()                                         {}
func (k *keeper) started(string, tree.Ref)                       {}
func (k *keeper) lostDone(string)                                {}
func (k *keeper) ended(string, protocol.Cause)                   {}
func keepUntilDone() int                                         { return StatusFailed }
