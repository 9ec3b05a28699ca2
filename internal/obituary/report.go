package obituary

import (
	"encoding/binary"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/regentproject/regent/internal/protocol"
)

// A Report releases groups of a member that is dead.
type Report struct {
	// First and Last are the range of group names that the report is about, both included. An empty Last is beyond all names.
	First, Last protocol.Group
	// Kept are the groups of the range whose programs may still act, in ascending order. Nothing ends that was promised for them.
	Kept []protocol.Group
}

// Covers returns whether the report releases a group.
func (r *Report) Covers(g protocol.Group) bool {
	if g < r.First || r.Last != "" && g > r.Last {
		return false
	}
	_, kept := slices.BinarySearch(r.Kept, g)
	return !kept
}

// Whole returns whether the report releases all groups, so that no other one adds to it.
func (r *Report) Whole() bool { return r.First == "" && r.Last == "" && len(r.Kept) == 0 }

var errBody = errors.New("obituary: malformed report: want a range, and names within it in ascending order")

// check says whether the range has an end that is not before its beginning, and what is kept is in order and in it.
func (r *Report) check() error {
	if r.Last != "" && r.Last < r.First {
		return errBody
	}
	for i, g := range r.Kept {
		if g == "" || g < r.First || r.Last != "" && g > r.Last || i > 0 && g <= r.Kept[i-1] {
			return errBody
		}
	}
	return nil
}

// appendBody appends what is sealed: First, Last, and all that is kept, each behind its length.
func (r *Report) appendBody(b []byte) []byte {
	b = appendName(appendName(b, r.First), r.Last)
	for _, g := range r.Kept {
		b = appendName(b, g)
	}
	return b
}

func appendName(b []byte, g protocol.Group) []byte {
	return append(binary.AppendUvarint(b, uint64(len(g))), g...)
}

// nameSize returns how much a name takes.
func nameSize(g protocol.Group) int {
	return len(binary.AppendUvarint(nil, uint64(len(g)))) + len(g)
}

// parseBody reads what appendBody wrote. There is one encoding of each report.
func parseBody(b []byte) (Report, error) {
	var names []protocol.Group
	for len(b) > 0 || len(names) < 2 {
		g, rest, err := parseName(b)
		if err != nil {
			return Report{}, err
		}
		names, b = append(names, g), rest
	}
	r := Report{First: names[0], Last: names[1]}
	if len(names) > 2 {
		r.Kept = names[2:]
	}
	if err := r.check(); err != nil {
		return Report{}, err
	}
	return r, nil
}

func parseName(b []byte) (protocol.Group, []byte, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || size > 1 && b[size-1] == 0 || n > uint64(len(b)-size) || !utf8.Valid(b[size:size+int(n)]) {
		return "", nil, errBody
	}
	return protocol.Group(b[size : size+int(n)]), b[size+int(n):], nil
}

// Split divides a report into parts of which no packet is longer than limit. No part releases what the report does not. Together they release
// all that it does, unless names are so long that three of them fit into no packet: what lies beside such a name is kept. What the report keeps must be
// in ascending order.
func Split(r *Report, limit int) (parts []Report) {
	part := Report{First: r.First}
	next := func() { // ends the part with the last name that it keeps, and begins another behind that
		last := part.Kept[len(part.Kept)-1]
		part.Last = last
		parts = append(parts, part)
		part = Report{First: last + "\x00"}
	}
	for _, g := range r.Kept {
		// There must be room for the name, and for it once more as the end of the part.
		if len(part.Kept) > 0 && part.size()+2*nameSize(g) > limit {
			next()
		}
		if part.size()+2*nameSize(g) > limit {
			part = Report{First: g + "\x00"}
			continue
		}
		part.Kept = append(part.Kept, g)
	}
	if len(part.Kept) > 0 && part.size()+nameSize(r.Last) > limit {
		next()
	}
	part.Last = r.Last
	if part.size()+nameSize(r.Last) <= limit && part.check() == nil {
		parts = append(parts, part)
	}
	return parts
}

// size returns how long the packet is, but for Last.
func (r *Report) size() int {
	n := Overhead + nameSize(r.First)
	for _, g := range r.Kept {
		n += nameSize(g)
	}
	return n
}
