package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// sample is a set of lengths of time.
type sample []time.Duration

// at returns the smallest length that at least the share of all do not exceed.
func (s sample) at(share float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	i := int(math.Ceil(share*float64(len(sorted)))) - 1
	return sorted[max(0, i)]
}

func (s sample) String() string {
	return fmt.Sprintf("p50 %8s  p99 %8s  max %8s  (%d)", ms(s.at(0.5)), ms(s.at(0.99)), ms(s.at(1)), len(s))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2fms", float64(d)/1e6) }
