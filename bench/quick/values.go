package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// values measures how soon many groups are led again with values, and how soon without, in turn, so that both meet the same load of the host.
func values(ctx context.Context, s settings, realtime bool, out io.Writer) error {
	if s.values == 0 || len(s.groups) == 0 {
		return nil
	}
	groups := slices.Max(s.groups)
	var took, cpu [2]sample
	for i := range 2 * s.values {
		with := i % 2
		c, err := openMany(ctx, s, groups, realtime, with == 1)
		if err != nil {
			return err
		}
		led, used, err := c.burst(ctx, groups)
		err = errors.Join(err, c.close())
		if err != nil {
			return err
		}
		took[with], cpu[with] = append(took[with], led), append(cpu[with], used)
		if s.verbose {
			fmt.Fprintf(out, "values %v: led again after %s, with %s of processor time\n", with == 1, ms(led), ms(used))
		}
	}
	row := func(what string, of [2]sample) {
		without, with := of[0].at(0.5), of[1].at(0.5)
		fmt.Fprintf(out, "values, %d groups, 3 members, %-8s %s in the median of %d: %s without, %s with, %.2f times\n", groups, named(realtime), what, s.values, ms(without), ms(with),
			float64(with)/float64(max(without, time.Nanosecond)))
	}
	row("led again", took)
	row("processor time", cpu)
	return nil
}
