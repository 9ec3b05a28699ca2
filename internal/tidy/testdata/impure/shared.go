package impure

import (
	"slices"

	_ "github.com/regentproject/regent/fence/httpfence" // want "imports github.com/regentproject/regent/fence/httpfence"
)

type tally struct{ n int }

func (c *tally) up() int { c.n++; return c.n }
func (c tally) get() int { return c.n }

var (
	sum    tally
	common = &tally{}
	byName = map[string]int{"a": 1}
	names  = []string{"a", "b"}
)

func share(own map[string]int) int {
	delete(byName, "a")        // want "changes the package's variable byName"
	clear(byName)              // want "changes the package's variable byName"
	copy(names, []string{"c"}) // want "changes the package's variable names"
	p := &sum                  // want "changes the package's variable sum"
	_ = &names[0]              // want "changes the package's variable names"
	_ = sum.up() + p.up()      // want "changes the package's variable sum"
	_ = common.up()            // want "changes the package's variable common"
	delete(own, "a")           // a machine's own: allowed
	_ = slices.Contains(names, "a")
	return sum.get() + byName["a"]
}
