package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/script"
	"github.com/regentproject/regent/sim/suite"
)

// lookup finds a protocol. Tests put broken ones in its place.
var lookup = suite.Lookup

// withTrace calls do with an observer that writes the trace to a file; with none if the name is empty.
func withTrace(name string, do func(...sim.Observer) error) (err error) {
	if name == "" {
		return do()
	}
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	t := sim.NewTrace(f)
	defer func() {
		for _, end := range []func() error{t.Flush, f.Close} {
			if e := end(); e != nil && err == nil {
				err = fmt.Errorf("trace: %w", e)
			}
		}
	}()
	return do(t)
}

// readScript reads a file, standard input if it is called -, or an embedded scenario if there is no such file.
func readScript(c *cobra.Command, name string) (string, []byte, error) {
	if name == "-" {
		text, err := io.ReadAll(c.InOrStdin())
		return "stdin", text, err
	}
	text, err := os.ReadFile(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return name, text, err
	}
	full, text, missing := script.Find(name)
	if errors.Is(missing, fs.ErrNotExist) {
		return name, nil, fmt.Errorf("%w, and no scenario of that name (regent-sim scenarios lists them)", err)
	}
	return full, text, missing
}
