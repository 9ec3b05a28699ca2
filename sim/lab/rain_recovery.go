package lab

import (
	"fmt"
	"slices"
	"time"

	"github.com/regentproject/regent/sim/checkpoints"
)

func rainRecoveryExperiment() *Experiment {
	return &Experiment{Name: "rain-recovery", Paper: rainPaper, Where: "section 4", Title: "how soon others go on with the work of a member that crashed, against k and the size of a state",
		Claim: "Redundant checkpoints on the members' disks let the remaining members reconstruct the state of lost applications from any k of n machines, and continue.",
		Differs: "The paper gives no figures and uses array codes; here the code is Reed-Solomon, which needs no special n and k. Seven members with two keys each, links of 1 to 5 ms, " +
			"a line of 1 Gbit/s at each member. Disks and coding take no time in the simulator; the benchmarks of package checkpoint measure those.",
		run: rainRecovery}
}

const (
	recoveryMembers = 7
	recoveryLine    = 125e6 // bytes in a second
)

func rainRecovery(r *run, out *Report) error {
	sizes := []int{64 << 10, 1 << 20, 8 << 20, 32 << 20}
	ks := []int{1, 2, 3, 4}
	runs := r.pick(1, 5)
	all, err := each(r, len(sizes)*len(ks)*runs, func(i int) (checkpoints.Recovery, error) {
		const real = 1024 // of a state in memory; each byte stands for many
		w := checkpoints.Run{Seed: r.Seed<<20 + uint64(i), Members: recoveryMembers, Data: ks[i/runs%len(ks)], Keys: 2 * recoveryMembers, Frames: 1 << 40, Size: real,
			Line: recoveryLine, Scale: sizes[i/runs/len(ks)] / real}
		return w.Recover()
	})
	if err != nil {
		return err
	}
	t := out.table(fmt.Sprintf("Medians of %d crashes each, from the crash on:", runs), "state", "k", "share", "all agree", "first key goes on", "all keys safe again")
	var curves []Curve
	first := make(map[int]time.Duration)
	sooner := true
	for s, size := range sizes {
		c := Curve{Name: bytesOf(size)}
		for j, k := range ks {
			some := all[(s*len(ks)+j)*runs:][:runs]
			median := func(of func(checkpoints.Recovery) time.Duration) time.Duration {
				var took []time.Duration
				for _, m := range some {
					took = append(took, of(m))
				}
				slices.Sort(took)
				return share(took, 0.5)
			}
			safe := median(func(m checkpoints.Recovery) time.Duration { return m.Safe })
			t.add(bytesOf(size), k, bytesOf(size/k), median(func(m checkpoints.Recovery) time.Duration { return m.Agreed }),
				median(func(m checkpoints.Recovery) time.Duration { return m.Resumed }), safe)
			c.Points = append(c.Points, Point{float64(k), milliseconds(safe)})
			if k == 1 {
				first[size] = safe
			}
		}
		sooner = sooner && (size < 8<<20 || c.Points[len(ks)-1].Y < milliseconds(first[size]))
		curves = append(curves, c)
	}
	out.chart("From the crash until all keys are safe again", "k", "ms", curves...)
	resumed := 0
	for _, m := range all {
		if m.Resumed > 0 && m.Safe >= m.Resumed {
			resumed++
		}
	}
	out.check(resumed == len(all), "the others reconstruct every key from shares, and go on (K-LOST, K-STALE, K-REPEAT, K-ONE)", "%d of %d crashes", resumed, len(all))
	out.check(sooner, "of states of 8 MiB and more, shares of a quarter are recovered sooner than whole copies", "see the table")
	return nil
}

// bytesOf writes a size.
func bytesOf(n int) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%.3g MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.3g KiB", float64(n)/(1<<10))
}
