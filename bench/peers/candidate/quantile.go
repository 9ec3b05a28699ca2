package candidate

import (
	"math"
	"slices"
	"time"
)

// quantile returns the shortest length that at least a share of all do not exceed; zero if there are none.
func quantile(all []time.Duration, share float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}
