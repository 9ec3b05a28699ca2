package library_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"
)

// A balanced council of three: each leads some groups; those of a member that is drained spread over the others, and come back when it
// is undrained; and nothing moves before.
func TestGroupsSpreadAndComeBackAfterADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assembleWith(t, func(c *regent.Config) { c.Balance = true }, three...)
		var groups []string
		for i := range 30 {
			groups = append(groups, fmt.Sprint("group/", i))
		}
		led := h.leaders(groups...)
		count := func(when string) map[string]int {
			t.Helper()
			n := make(map[string]int)
			for _, m := range led() {
				n[m]++
			}
			if n["a"]+n["b"]+n["c"] != len(groups) {
				t.Fatalf("%s: %v lead", when, n)
			}
			return n
		}
		time.Sleep(5 * time.Second)
		first := count("at the start")
		if first["a"] == 0 || first["b"] == 0 || first["c"] == 0 {
			t.Errorf("at the start: %v lead", first)
		}
		h.must(h.members["a"].Drain(t.Context()))
		time.Sleep(5 * time.Second)
		if n := count("drained"); n["a"] != 0 || n["b"] <= first["b"] || n["c"] <= first["c"] {
			t.Errorf("of %v, drained: %v", first, n)
		}
		h.must(h.members["a"].Undrain(t.Context()))
		time.Sleep(10 * time.Second)
		if n := count("undrained"); n["a"] != first["a"] || n["b"] != first["b"] {
			t.Errorf("of %v, undrained: %v", first, n)
		}
	})
}

func TestBalanceAndPreferDoNotGoTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newInMemory(t, "a")
		c := h.config("a")
		c.Balance, c.Prefer = true, time.Second
		if _, err := h.joinAs(c); err == nil {
			t.Error("joined with both")
		}
	})
}
