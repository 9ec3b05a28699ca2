// Package elector names the ways to find the member to trust.
//
// An elector says who should lead. All members agree on that in the end, but it may be wrong for a while. In an eventual
// group that is all there is; under a quorum group it says who tries first, and leases keep two from leading whatever
// it says. Which one suits depends on what can be relied on:
//
//	Stable     one member has links with all others that are timely in the end; the leader is not demoted without cause
//	TimeFree   no time-out can be relied on, but the answers of one member are always among the first
//	FSource    one member has timely links out to f others
//	Hybrid     either of the two above, whichever it is
//	Rank       all links are timely in the end; simple, n² messages, and the member that ranks first is trusted as soon as it is heard
//	Ring       the same, but members watch only the next before and after them
//	Hall       the same, and links are timely by proof; members between which they are not do not wait for one another
//
// The last three are for quorum groups only.
//
// docs/stable.md, docs/timefree.md and docs/composition.md say more, with numbers.
package elector

import (
	"fmt"
	"slices"
	"strings"
)

// Kind names an elector. The empty one stands for the default.
type Kind string

// The electors.
const (
	Stable   Kind = "stable"
	TimeFree Kind = "timefree"
	FSource  Kind = "fsource"
	Hybrid   Kind = "hybrid"
	Rank     Kind = "rank"
	Ring     Kind = "ring"
	Hall     Kind = "hall"
)

// All lists the electors, the default first.
func All() []Kind { return []Kind{Stable, TimeFree, FSource, Hybrid, Rank, Ring, Hall} }

// Check says what is wrong with a name that is not in [All].
func (k Kind) Check() error {
	if k == "" || slices.Contains(All(), k) {
		return nil
	}
	var names []string
	for _, a := range All() {
		names = append(names, string(a))
	}
	return fmt.Errorf("elector %q: must be one of %s", string(k), strings.Join(names, ", "))
}
