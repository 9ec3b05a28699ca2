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
	var stopped error
	for i := range 2 * s.values {
		led, used, err := openBurst(ctx, s, groups, realtime, i%2 == 1)
		if err != nil {
			stopped = err
			break
		}
		took[i%2], cpu[i%2] = append(took[i%2], led), append(cpu[i%2], used)
		if s.verbose {
			fmt.Fprintf(out, "values %v: led again after %s, with %s of processor time\n", i%2 == 1, ms(led), ms(used))
		}
	}
	if len(took[1]) == 0 {
		return stopped // nothing to compare
	}
	row := func(what string, of [2]sample) {
		without, with := of[0].at(0.5), of[1].at(0.5)
		fmt.Fprintf(out, "values, %d groups, 3 members, %-8s %s in the median of %d: %s without, %s with, %.2f times%s\n", groups, named(realtime), what, len(of[1]), ms(without), ms(with),
			float64(with)/float64(max(without, time.Nanosecond)), short(len(of[1]), s.values))
	}
	row("led again", took)
	row("processor time", cpu)
	return stopped
}

// openBurst lets a council of its own lose the member that leads all groups.
func openBurst(ctx context.Context, s settings, groups int, realtime, values bool) (took, cpu time.Duration, err error) {
	c, err := openMany(ctx, s, groups, realtime, values)
	if err != nil {
		return 0, 0, err
	}
	took, cpu, err = c.burst(ctx, groups)
	return took, cpu, errors.Join(err, c.close())
}
