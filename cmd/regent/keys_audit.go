package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/config"
)

// audited reports to the agent who changed keys in this host's files and what became of it, and returns err. The agent writes the line of the audit
// log, because the kernel tells it who asks. If no agent received the report, audited appends the line to the file of the audit log, if there is one.
// An agent that received it and does not answer may still write it, so audited writes no second line.
func audited(c *cobra.Command, f *config.File, change access.KeyChange, err error) error {
	if f == nil {
		return err // a Go program has no agent
	}
	if err != nil {
		change.Failure = err.Error()
	}
	ctx, cancel := context.WithTimeout(c.Context(), askLimit)
	defer cancel()
	var answer api.Health
	failed := newClient(f.Socket.Path).post(ctx, "/v1/keys", change, &answer)
	var none *unasked
	var refused *refusal
	switch {
	case errors.As(failed, &none):
		failed = access.AppendAudit(f.Audit, change.Line(fmt.Sprintf("uid %d", os.Getuid()), fmt.Sprintf("pid %d", os.Getpid())))
	case failed != nil && !errors.As(failed, &refused):
		fmt.Fprintf(c.ErrOrStderr(), "%s: the audit log may not have this change: %v\n", c.CommandPath(), failed)
		return err
	}
	if failed != nil {
		fmt.Fprintf(c.ErrOrStderr(), "%s: the audit log does not have this change: %v\n", c.CommandPath(), failed)
	}
	return err
}
