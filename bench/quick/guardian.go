package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// guardianBlock is how many leaders of one council are killed before the other one has its turn. Councils of both kinds thus meet the same load of the host.
const guardianBlock = 10

// guardians measures how soon leaders that are killed are replaced with guardians, and how soon without, in turn.
func guardians(ctx context.Context, s settings, members int, realtime bool, out io.Writer) error {
	var took [2]sample
	var void [2]int
	var both time.Duration
	var stopped error
	for turn := 0; stopped == nil && len(took[1]) < s.guardian; turn++ {
		with := turn % 2
		block := s
		block.trials = min(guardianBlock, s.guardian-len(took[with]))
		c, err := open(ctx, block, cluster.Options{NoRealtime: !realtime, Guardian: with == 1, Poll: pollEvery, Groups: cluster.OneGroup}, members)
		if err != nil {
			stopped = err
			break
		}
		times, gone, err := c.series(ctx, "kill", out)
		took[with], void[with] = append(took[with], times...), void[with]+gone
		rep, wrong := c.cluster.Check(cluster.Rules{})
		both += rep.Both
		stopped = errors.Join(err, wrong, c.close())
	}
	if len(took[1]) == 0 {
		return stopped // nothing to compare
	}
	for with, name := range []string{"without", "with"} {
		fmt.Fprintf(out, "guardian %-7s %d members, %-8s p90 %8s  %v   both %v%s%s; load %s\n", name, members, named(realtime), ms(took[with].at(0.9)), took[with], both, voided(void[with]), short(len(took[with]), s.guardian), load())
	}
	fmt.Fprintf(out, "guardian, %d members, %-8s with against without: p50 %.2f, p90 %.2f\n", members, named(realtime), ratio(took, 0.5), ratio(took, 0.9))
	return stopped
}

// ratio returns how long failovers with a guardian take, of the time without.
func ratio(took [2]sample, share float64) float64 {
	return float64(took[1].at(share)) / float64(max(took[0].at(share), 1))
}
