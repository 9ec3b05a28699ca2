package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// A claim says that a program owned a key throughout, from one reading of the host's clock to another.
type claim struct {
	owner, key   string
	since, until int64
}

// judge looks at all claims of a run, between two readings. No key may be owned twice at one instant, be it by two memberships of
// one program; and none may be without an owner for longer than patience. It returns the longest time for which one was.
func judge(claims []claim, keys []string, from, to int64, patience time.Duration) (longest time.Duration, err error) {
	var found []error
	claims = slices.SortedFunc(slices.Values(claims), func(a, b claim) int { return cmp.Compare(a.since, b.since) })
	for _, key := range keys {
		last := claim{key: key, until: from}
		free := func(next string, since int64) {
			d := time.Duration(since - last.until)
			longest = max(longest, d)
			if d > patience {
				found = append(found, fmt.Errorf("%s has no owner for %v, between %q and %q", key, d, last.owner, next))
			}
		}
		for _, c := range claims {
			if c.key != key {
				continue
			}
			if both := min(last.until, c.until) - c.since; last.owner != "" && both > 0 {
				found = append(found, fmt.Errorf("%s is owned by %s and by %s for %v", key, last.owner, c.owner, time.Duration(both)))
			}
			free(c.owner, min(c.since, to))
			if c.until > last.until {
				last = c
			}
		}
		free("the end", to)
	}
	return longest, errors.Join(found...)
}

func TestJudgeFindsKeysThatAreOwnedTwiceOrByNobody(t *testing.T) {
	const second = int64(time.Second)
	keys := []string{"x", "y"}
	y := claim{"c", "y", 0, 10 * second}
	for name, c := range map[string]struct {
		claims []claim
		want   []string
	}{
		"one after the other": {[]claim{y, {"a", "x", 0, 5 * second}, {"b", "x", 6 * second, 10 * second}}, nil},
		"in any order":        {[]claim{{"b", "x", 6 * second, 10 * second}, y, {"a", "x", 0, 5 * second}}, nil},
		"two at once":         {[]claim{y, {"a", "x", 0, 5*second + 1}, {"b", "x", 5 * second, 10 * second}}, []string{"x is owned by a and by b for 1ns"}},
		"one within another": {[]claim{y, {"a", "x", 0, 10 * second}, {"b", "x", 2 * second, 3 * second}, {"d", "x", 7 * second, 8 * second}},
			[]string{"x is owned by a and by b for 1s", "x is owned by a and by d for 1s"}},
		"two memberships of one": {[]claim{y, {"a", "x", 0, 6 * second}, {"a", "x", 5 * second, 10 * second}}, []string{"x is owned by a and by a for 1s"}},
		"nobody for too long":    {[]claim{y, {"a", "x", 0, 4 * second}, {"b", "x", 6*second + 1, 10 * second}}, []string{`x has no owner for 2.000000001s, between "a" and "b"`}},
		"nobody at first":        {[]claim{y, {"a", "x", 3 * second, 10 * second}}, []string{`x has no owner for 3s, between "" and "a"`}},
		"nobody in the end":      {[]claim{y, {"a", "x", 0, 7 * second}}, []string{`x has no owner for 3s, between "a" and "the end"`}},
		"nobody ever":            {[]claim{y}, []string{`x has no owner for 10s, between "" and "the end"`}},
	} {
		_, err := judge(c.claims, keys, 0, 10*second, 2*time.Second)
		var got []string
		if err != nil {
			got = strings.Split(err.Error(), "\n")
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: found %q, want %q", name, got, c.want)
		}
	}
}
