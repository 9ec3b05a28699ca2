package tenure

import (
	"cmp"

	"github.com/regentproject/regent/internal/protocol"
)

// weight orders causes of an end. Of two that are decided at the same time, at different parties, the heavier one counts
// everywhere: the order of the list, heaviest first. What explains more goes before what follows from it: a host that was
// suspended finds its lease expired, and a silent program does not stop when it is asked to.
var weight = [...]protocol.CauseCode{protocol.ClockFault, protocol.Unhealthy, protocol.LeaseExpired, protocol.NoQuorum, protocol.Died, protocol.Restarted,
	protocol.Doubted, protocol.Suspected, protocol.Excluded, protocol.Merged, protocol.Returned, protocol.TooMany, protocol.SlowLink,
	protocol.Stalled, protocol.NoAccess, protocol.AllAgree, protocol.Elected, protocol.Started, protocol.Transferred, protocol.Balanced,
	protocol.Closed, protocol.Drained, protocol.Resigned, protocol.Announced, protocol.Unexplained}

// place returns the place of a code in the list; codes of later versions are the lightest.
func place(c protocol.CauseCode) int {
	for i, w := range weight {
		if w == c {
			return i
		}
	}
	return len(weight)
}

// Winner returns the cause that counts if parties decided on both. It is the same in either order, and of three in any
// order, so that parties that have exchanged their causes have the same one.
func Winner(a, b protocol.Cause) protocol.Cause {
	order := cmp.Or(cmp.Compare(place(a.Code), place(b.Code)), cmp.Compare(a.Code, b.Code), cmp.Compare(b.Bound, a.Bound), cmp.Compare(a.Peer, b.Peer))
	if order <= 0 {
		return a
	}
	return b
}
