package impure

import (
	"maps"
	"slices"
	m2 "maps"
)

type table map[string]int

func walk[M ~map[string]int](t table, generic M, plain map[int]bool) []string {
	for range t { // want "range over a map has no order"
	}
	for k := range generic { // want "range over a map has no order"
		_ = k
	}
	for k, v := range plain { // want "range over a map has no order"
		_, _ = k, v
	}
	for k := range maps.Keys(plain) { // want "maps.Keys has no order"
		_ = k
	}
	_ = slices.Collect(m2.Values(plain)) // want "maps.Values has no order"
	// order does not matter:
	for range t { // want "range over a map has no order"
	}

	// order does not matter: the sum of numbers is the same in every order
	for _, n := range t {
		_ = n
	}
	for _, n := range t { // order does not matter: a count
		_ = n
	}
	for range []int{1} {
	}
	return slices.Sorted(maps.Keys(t))
}
