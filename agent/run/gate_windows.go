package run

import "github.com/regentproject/regent/agent/run/tree"

// gate is of no use: no tree can be started here.
type gate struct{ done chan struct{} }

const gateName = "regent-hold"

func hold(*tree.Options) (*gate, error) { return &gate{done: make(chan struct{})}, nil }
func (g *gate) started()                {}
func (g *gate) open() error             { return nil }
func (g *gate) close()                  {}
func waitAtGate([]string) int           { return 0 }
