package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/cli"
	"github.com/regentproject/regent/agent/plan"
	"github.com/regentproject/regent/agent/plan/measure"
)

func planProbeCommand() *cobra.Command {
	var listen string
	var length time.Duration
	c := &cobra.Command{
		Use:   "probe",
		Short: "Answer the probes of 'regent plan' at another host",
		Long: `Answers UDP packets that 'regent plan --peers' sends from other hosts, so that round trips
can be measured before there is a council. It answers probes only, each with a packet of the
same size, at most 2,000 a second, and ends by itself.`,
		Example: `  regent plan probe --listen :7400 --for 1h`,
		Args:    cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if length <= 0 {
				return fmt.Errorf("--for %v: must be positive", length)
			}
			conn, err := net.ListenPacket("udp", listen)
			if err != nil {
				if errors.Is(err, syscall.EADDRINUSE) {
					err = fmt.Errorf("%w (is an agent running here? name another port)", err)
				}
				return cli.Failf("probe: %w", err)
			}
			defer conn.Close()
			fmt.Fprintf(c.OutOrStdout(), "answering probes at %s for %s\n", conn.LocalAddr(), plan.Length(length))
			ctx, cancel := context.WithTimeout(c.Context(), length)
			defer cancel()
			n, err := measure.Echo(ctx, conn)
			if err != nil {
				return &cli.Failure{Err: err}
			}
			fmt.Fprintf(c.OutOrStdout(), "answered %d probes\n", n)
			return nil
		},
	}
	c.Flags().StringVar(&listen, "listen", ":7400", "where to listen, by UDP")
	c.Flags().DurationVar(&length, "for", 10*time.Minute, "end after this time")
	return c
}
