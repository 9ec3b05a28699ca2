package tree

import (
	"context"
	"errors"
	"os"
	"os/exec"

	"github.com/regentproject/regent/internal/tenure"
)

var errWindows = errors.New("regent run cannot keep a tree of processes together on Windows: run the program yourself and ask the agent over HTTP")

// A Reaper starts the children of a runner.
type Reaper struct{}

// ProcessReaper says that there is none.
func ProcessReaper() (*Reaper, error) { return nil, errWindows }

// Start starts a command.
func (r *Reaper) Start(c *exec.Cmd) error { return c.Start() }

// Wait waits for a command.
func (r *Reaper) Wait(c *exec.Cmd) error { return c.Wait() }

// KillGroup kills a command.
func (r *Reaper) KillGroup(c *exec.Cmd) { _ = c.Process.Kill() }

// A Tree is a program that this process starts, and all that the program starts.
type Tree struct{ ref Ref }

// Prepare says that there is none.
func (r *Reaper) Prepare() (t *Tree, noCgroup, err error) { return nil, nil, errWindows }

// Hold does nothing: addresses do not move on this system.
func (t *Tree) Hold([]string) {}

// Ref is of no use.
func (t *Tree) Ref() Ref { return t.ref }

// Start says that it cannot be done.
func (t *Tree) Start(Options) error { return errWindows }

// StartBeside says that it cannot be done.
func (t *Tree) StartBeside(*exec.Cmd) error { return errWindows }

// Exec says that it cannot be done.
func (t *Tree) Exec() error { return errWindows }

// Abort does nothing.
func (t *Tree) Abort() {}

// End says that it cannot be done.
func (t *Tree) End(ctx context.Context) Result { return t.ref.End(ctx) }

// Forget does nothing.
func (t *Tree) Forget() {}

// Exited never is.
func (t *Tree) Exited() <-chan struct{} { return nil }

// Status is none.
func (t *Tree) Status() int { return -1 }

// Forward says that it cannot be done.
func (t *Tree) Forward(os.Signal) error { return errWindows }

// Look says that it cannot be done.
func (r *Ref) Look() Result { return Result{Err: errWindows} }

func (r *Ref) killer() killer {
	return killer{strike: func() (Result, bool) { return Result{}, false }, walk: r.Look}
}

// See has nothing to take note of.
func (r *Ref) See() {}

func (r *Ref) clear() {}

// Orphaned says nothing here.
func (r *Ref) Orphaned() bool { return false }

// MayKill says that it cannot be done.
func (r *Ref) MayKill() error { return errWindows }

// Verify says that it cannot be done.
func (c Claim) Verify(tenure.Identity, int) (Ref, error) { return Ref{}, errWindows }

// IsChild says whether a process is a child of another one, which is not known here.
func IsChild(child, parent tenure.Identity) bool { return false }

// Learn says that it cannot be done.
func (r *Ref) Learn(int) error { return errWindows }
