package tree

import (
	"errors"
	"os"
	"os/exec"
)

var errWindows = errors.New("regent run cannot keep a tree of processes together on Windows: run the program yourself and ask the agent over HTTP")

// A Nursery starts the children of a runner.
type Nursery struct{}

// TheNursery says that there is none.
func TheNursery() (*Nursery, error) { return nil, errWindows }

// Start starts a command.
func (n *Nursery) Start(c *exec.Cmd) error { return c.Start() }

// Wait waits for a command.
func (n *Nursery) Wait(c *exec.Cmd) error { return c.Wait() }

// A Tree is a program that this process starts, and all that the program starts.
type Tree struct{ Ref }

// Plan says that there is none.
func (n *Nursery) Plan() (t *Tree, noCgroup, err error) { return nil, nil, errWindows }

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

// Believe says that it cannot be done.
func (r Ref) Believe(int) (Ref, error) { return Ref{}, errWindows }
