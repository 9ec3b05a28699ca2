package core

import (
	"fmt"
	"slices"
)

// Config is what all members of a council have in common, and which one this is.
type Config struct {
	Self    int
	Members int // n
	Data    int // k: how many shares give a state back
	Keys    []string
	Coder   Coder
}

// Check reports what is wrong with a configuration.
func (c *Config) Check() error {
	switch {
	case c.Members < 1 || c.Members > MaxMembers:
		return fmt.Errorf("checkpoint: %d members: must be between 1 and %d", c.Members, MaxMembers)
	case c.Data < 1 || c.Data > c.quorum():
		return fmt.Errorf("checkpoint: %d data shares of %d: must be between 1 and %d, a majority", c.Data, c.Members, c.quorum())
	case c.Self < 0 || c.Self >= c.Members:
		return fmt.Errorf("checkpoint: member %d of %d", c.Self, c.Members)
	}
	return nil
}

// quorum is how many members a view has at least.
func (c *Config) quorum() int { return c.Members/2 + 1 }

// Tolerates is how many members may fail before one of them has been recovered: f.
func (c *Config) Tolerates() int { return min(c.Members-c.Data, (c.Members-1)/2) }

// Need is how many members of a view must have acknowledged their shares: k, and as many as may still fail. It is never so few that a
// majority could miss the checkpoint.
func (c *Config) Need(members int) int {
	return max(c.Data+c.Tolerates()-(c.Members-members), c.least())
}

// least is the lowest Need of any view.
func (c *Config) least() int { return c.Members - c.quorum() + 1 }

// Found is what one vault has of a key.
type Found struct {
	Shares  []Share `json:"shares,omitempty"`
	Damaged []ID    `json:"damaged,omitempty"` // acknowledged once, and not readable any more
	// Lost says that the vault began empty after the founding, and that no view was recovered since: it may have had any share.
	Lost bool `json:"lost,omitempty"`
}

// A Verdict says what an heir does.
type Verdict uint8

// The verdicts.
const (
	Begin  Verdict = iota // no checkpoint of the key can be complete: start from the beginning
	Resume                // go on from a checkpoint
	Wait                  // a newer checkpoint may be complete than those that can be decoded
)

// A Choice is what an heir does, and the shares from which it goes on.
type Choice struct {
	Verdict Verdict
	ID      ID // to go on from, or to wait for
	Shares  []Share
}

// Choose decides what an heir goes on from, in a view whose members have all answered.
func (c *Config) Choose(members Set, found map[int]Found) Choice {
	type candidate struct {
		id      ID
		view    Set
		shares  map[Digest][]Share
		damaged Set
	}
	var all []*candidate
	get := func(id ID) *candidate {
		for _, d := range all {
			if d.id == id {
				return d
			}
		}
		d := &candidate{id: id, shares: make(map[Digest][]Share)}
		all = append(all, d)
		return d
	}
	for m := range members.All() {
		if found[m].Lost {
			members &^= Of(m) // as good as away
			continue
		}
		for _, s := range found[m].Shares {
			d := get(s.ID)
			d.view = s.Members
			d.shares[s.State] = append(d.shares[s.State], s)
		}
		for _, id := range found[m].Damaged {
			get(id).damaged |= Of(m)
		}
	}
	slices.SortFunc(all, func(a, b *candidate) int { return b.id.Compare(a.id) })
	for _, d := range all {
		kept, need, away := 0, c.least(), c.Members-members.Len()
		for _, shares := range d.shares { // order does not matter: one owner wrote one state
			kept = max(kept, len(shares))
			if len(shares) >= c.Data {
				return Choice{Resume, d.id, shares}
			}
		}
		if d.view != 0 {
			need, away = c.Need(d.view.Len()), (d.view &^ members).Len()
		}
		if kept+d.damaged.Len()+away >= need {
			return Choice{Verdict: Wait, ID: d.id}
		}
	}
	return Choice{Verdict: Begin}
}
