// Package cli is what Regent's command lines share: exit statuses, the errors that lead to them, and small pieces of
// output. Subcommands return errors; [Run] prints them and returns the status.
package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/internal/names"
)

// The exit statuses.
const (
	OK      = 0
	Failed  = 1 // the command ran and its answer is negative, for example no leader or a violated invariant
	Usage   = 2 // usage error
	NoAgent = 3 // the agent is unreachable
)

// Run executes a command line and returns its exit status. It prints errors to errOut.
func Run(ctx context.Context, root *cobra.Command, args []string, in io.Reader, out, errOut io.Writer) int {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return OK
	}
	var code *Exit
	if errors.As(err, &code) {
		if code.Err != nil {
			fmt.Fprintln(errOut, code.Error())
		}
		return code.Status
	}
	var failed *Failure
	if errors.As(err, &failed) {
		fmt.Fprintln(errOut, failed.Error())
		return Failed
	}
	var whole *Complete
	if errors.As(err, &whole) {
		fmt.Fprintf(errOut, "%s: %v\n", root.Name(), err)
	} else {
		fmt.Fprintf(errOut, "%s: %v (usage: %s; see '%s --help')\n", root.Name(), err, form(cmd), cmd.CommandPath())
	}
	return Usage
}

// form is how a command is used, without flags.
func form(c *cobra.Command) string {
	if c.HasAvailableSubCommands() {
		return c.CommandPath() + " COMMAND"
	}
	return strings.TrimSuffix(c.UseLine(), " [flags]")
}

// A Failure is a negative answer to a valid command. Run prints it as it is.
type Failure struct{ Err error }

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the error below.
func (f *Failure) Unwrap() error { return f.Err }

// Failf returns a Failure.
func Failf(format string, args ...any) error { return &Failure{fmt.Errorf(format, args...)} }

// An Exit is an error with an exit status of its own. Without Err, Run prints nothing.
type Exit struct {
	Err    error
	Status int
}

func (e *Exit) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Status)
	}
	return e.Err.Error()
}

// Unwrap returns the error below.
func (e *Exit) Unwrap() error { return e.Err }

// Silently ends with a status and prints nothing.
func Silently(status int) error { return &Exit{Status: status} }

// Complete is a usage error that has the right form in it.
type Complete struct{ Err error }

func (c *Complete) Error() string { return c.Err.Error() }

// Unwrap returns the error below.
func (c *Complete) Unwrap() error { return c.Err }

// NoArgs refuses arguments, and lists the subcommands if there are any.
func NoArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !c.HasAvailableSubCommands() {
		return fmt.Errorf("%q: %s takes no arguments", args[0], c.CommandPath())
	}
	var all []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			all = append(all, sub.Name())
		}
	}
	if near := names.Nearest(args[0], all); near != "" {
		return fmt.Errorf("%q: no such command; did you mean %s?", args[0], near)
	}
	return fmt.Errorf("%q: no such command; there are %s", args[0], strings.Join(all, ", "))
}

// WriteJSON prints v as indented JSON.
func WriteJSON(c *cobra.Command, v any) error {
	return encode(c.OutOrStdout(), v, "  ")
}

// WriteJSONLine prints JSON in one line.
func WriteJSONLine(w io.Writer, v any) error { return encode(w, v, "") }

// encode writes JSON that shows no character that controls a terminal.
func encode(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(names.ShowJSON(b.Bytes()))
	return err
}

// Count returns a number with its noun, in the plural where that is right.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
