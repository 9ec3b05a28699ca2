package suite

import (
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol/hall"
)

// Options is a set of the options that members of hall can have.
type Options uint

// The options of hall.
const (
	Majority Options = 1 << iota
	Turns
	Tree
	Calm
	allOptions = Majority | Turns | Tree | Calm
)

// OptionSets returns all sets of options, the one without any first.
func OptionSets() []Options {
	var all []Options
	for o := Options(0); o <= allOptions; o++ {
		all = append(all, o)
	}
	return all
}

// String names the options of the set.
func (o Options) String() string {
	var names []string
	for i, name := range []string{"majority", "turns", "tree", "calm"} {
		if o&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "plain"
	}
	return strings.Join(names, "-")
}

// set configures a member with the options.
func (o Options) set(c *hall.Config) {
	if o&Majority != 0 {
		c.Supporters = hall.Majority(c.Members)
	}
	if o&Turns != 0 {
		c.Rotate = 20
	}
	if o&Calm != 0 {
		c.Calm = time.Second
		c.Retries, c.Renew = 1, 20*time.Millisecond
	}
	if o&Tree != 0 {
		c.Arity = 2
		c.Timing = c.Timing.Fit(c.Window())
	}
	if o&Turns != 0 {
		c.Rotate = max(c.Rotate, c.LeastRotate())
	}
}
