package tree

import (
	"errors"
	"os"
	"os/exec"
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

// A Tree is a program that this process starts, and all that the program starts.
type Tree struct{ Ref }

// Prepare says that there is none.
func (r *Reaper) Prepare() (t *Tree, noCgroup, err error) { return nil, nil, errWindows }

// Start says that it cannot be done.
func (t *Tree) Start(Options) error { return errWindows }

// Exited never is.
func (t *Tree) Exited() <-chan struct{} { return nil }

// Status is none.
func (t *Tree) Status() int { return -1 }

// Forward says that it cannot be done.
func (t *Tree) Forward(os.Signal) error { return errWindows }

// Processes says that it cannot be done.
func (r *Ref) Processes() ([]Process, error) { return nil, errWindows }

func (r *Ref) kill() ([]Process, error) { return nil, errWindows }

func (r *Ref) gone() bool { return false }

func (r *Ref) clear() {}

// Orphaned says nothing here.
func (r *Ref) Orphaned() bool { return false }

// MayKill says that it cannot be done.
func (r *Ref) MayKill() error { return errWindows }

// Verify says that it cannot be done.
func (r Ref) Verify(int) (Ref, error) { return Ref{}, errWindows }
