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

// audited takes down in the audit log who changed keys in this host's files and what became of it, and returns err. The agent takes it down, for
// it learns from the kernel who asks. While the agent does not run, the line goes to the file of the audit log, if there is one.
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
	var refused *refusal
	if failed != nil && !errors.As(failed, &refused) {
		failed = access.AppendAudit(f.Audit, change.Line(fmt.Sprintf("uid %d", os.Getuid()), fmt.Sprintf("pid %d", os.Getpid())))
	}
	if failed != nil {
		fmt.Fprintf(c.ErrOrStderr(), "%s: the audit log does not have this change: %v\n", c.CommandPath(), failed)
	}
	return err
}
