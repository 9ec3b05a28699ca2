package stable

import "github.com/regentproject/regent/internal/protocol"

// alerts remembers which ALERTs may still count: those of which no later one was about the same or a later round. They
// are in the order of their coming, so their rounds fall. If there are too many, two become one that counts for as long
// as either: an alert too many delays an election, an alert forgotten would break stability.
type alerts struct {
	all [8]alert
	n   int
}

type alert struct {
	round uint64
	at    protocol.Time
}

// add notes an ALERT that came now.
func (a *alerts) add(round uint64, now protocol.Time) {
	for a.n > 0 && a.all[a.n-1].round <= round {
		a.n--
	}
	if a.n == len(a.all) {
		a.all[a.n-1].at = now
		return
	}
	a.all[a.n] = alert{round, now}
	a.n++
}

// prune forgets the ALERTs that did not come within the given time, and those about the given round and earlier ones.
func (a *alerts) prune(from, to protocol.Time, round uint64) {
	kept := 0
	for _, one := range a.all[:a.n] {
		if one.at >= from && one.at <= to && one.round > round {
			a.all[kept] = one
			kept++
		}
	}
	a.n = kept
}

// any says whether there is one.
func (a *alerts) any() bool { return a.n > 0 }
