package lessee

import "time"

// An Entry is what the store has of one group. The zero value is an absent one.
type Entry struct {
	// Holder is the name of the member that claimed it last, and Session tells its claim from all others. An empty entry has neither.
	Holder, Session string
	// Token grows with every claim. Zero: the entry is absent; in a new entry: the store draws it.
	Token uint64
	// Beat grows with every write of the entry.
	Beat uint64
	// TTL is that of the holder.
	TTL time.Duration
	// Value is what the holder announces.
	Value string
	// Free says that the holder has given the group up.
	Free bool
}

// Absent says that the store has no entry.
func (e *Entry) Absent() bool { return e.Token == 0 }

// same says whether nothing was written between two readings.
func (e *Entry) same(o *Entry) bool {
	return e.Token == o.Token && e.Beat == o.Beat && e.Session == o.Session && e.Free == o.Free
}

// A Request is one question to the store.
type Request struct {
	ID uint64
	// Swap says that New replaces the entry if its token and beat are those of Old. Otherwise the entry is only read.
	Swap     bool
	Old, New Entry
}

// An Answer is what the store answered to the request with that ID.
type Answer struct {
	ID uint64
	// Failed says that nothing is known of what became of it.
	Failed bool
	// Swapped says that New is the entry now.
	Swapped bool
	// Entry is the entry as it stood then: after the exchange, if there was one.
	Entry Entry
}

// A Sight is what a process believes of a group.
type Sight struct {
	Holder string // empty: nobody is known to lead
	Token  uint64
	TTL    time.Duration
	Value  string
	// Free says that the last holder has given the group up.
	Free bool
}

// An End is why a leadership is over.
type End uint8

const (
	NotOver  End = iota
	Expired      // its lease ran out before a renewal succeeded
	Replaced     // the entry is of another claim, or absent
	Released     // its program has stopped
)
