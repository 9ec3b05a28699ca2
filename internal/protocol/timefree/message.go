package timefree

import (
	"slices"

	"github.com/regentproject/regent/internal/protocol"
)

// Query asks for a Response and gossips counters (QUERY_ALIVE).
type Query struct {
	// Number tells the queries of one incarnation of a member apart.
	Number uint64
	// Counts are the counters of all members, by rank.
	Counts []uint64
	// First says that the sender has just started and wants to know the counters.
	First bool
}

// Copy returns a Query of its own.
func (m *Query) Copy() protocol.Message {
	c := *m
	c.Counts = slices.Clone(m.Counts)
	return &c
}

// Name returns timefree.Query.
func (m *Query) Name() string { return "timefree.Query" }

// Response answers a Query.
type Response struct {
	// Number is that of the query.
	Number uint64
	// Winners are those whose responses won the last query of the sender that ended (rec_from); everybody before that.
	Winners protocol.Set
	// Counts are the sender's counters, if the query was a First one.
	Counts []uint64
	// Asker is the incarnation whose query it answers.
	Asker protocol.Inc
}

// Copy returns a Response of its own.
func (m *Response) Copy() protocol.Message {
	c := *m
	c.Counts = slices.Clone(m.Counts)
	return &c
}

// Name returns timefree.Response.
func (m *Response) Name() string { return "timefree.Response" }
