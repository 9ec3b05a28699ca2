package transport

import (
	"fmt"
	"slices"
)

// A Filter says what a datagram must look like to be let in. It looks at fixed places only, so that a kernel can apply it.
type Filter struct {
	// Shortest and Longest bound its length.
	Shortest, Longest int
	// Fields must all hold.
	Fields []Field
	// Except lists what is dropped all the same: datagrams in which all fields of one row hold.
	Except [][]Field
	// Sample, if it is above 1, lets in one of so many only, by chance. Datagrams that have one of the values that Known lists are let in
	// without it.
	Sample uint32
	Known  *Field
	// Or is another filter; a datagram may pass that instead.
	Or *Filter
}

// A Field is a big-endian number in a datagram, of 1, 2 or 4 bytes.
type Field struct {
	Offset, Size int
	// Any lists what it may be, and Within from where to where it may be, both included. If both are empty it must be less than Below.
	Any    []uint32
	Within [][2]uint32
	Below  uint32
}

// maxKnown is how many values Known may list: a kernel's filter has at most 4,096 instructions.
const maxKnown = 1500

// maxAny is how many values a field may list, where a range counts twice: jumps of the kernel's filters are short.
const maxAny = 200

// maxExcept is how many rows there may be.
const maxExcept = 4

// maxCharge is how many bytes a filter may take. Many kernels allow 20 KB for a socket, and charge a filter together with the one that it replaces; some is
// left for other options of the socket.
const maxCharge = 10_000

// What the kernel charges for: it translates each load into up to 14 instructions of 8 bytes, a comparison into two, and a return into two.
const (
	chargeFilter = 8 * 40 // its own description, the bounds of the length and the chance
	chargeLoad   = 8 * 14
	chargeValue  = 8 * 2
	chargeReturn = 8 * 2
)

// Charge bounds how many bytes the kernel charges a socket for the filter.
func (f *Filter) Charge() int {
	n := chargeFilter + chargeFields(f.Fields)
	for _, row := range f.Except {
		n += chargeFields(row) + chargeReturn
	}
	if f.Known != nil && f.Sample > 1 {
		n += chargeLoad + len(f.Known.Any)*(chargeValue+chargeReturn)
	}
	if f.Or != nil {
		n += f.Or.Charge()
	}
	return n
}

func chargeFields(fields []Field) (n int) {
	for i := range fields {
		n += chargeLoad + max(1, len(fields[i].Any)+2*len(fields[i].Within))*chargeValue + chargeReturn
	}
	return n
}

// Fit drops the last exceptions for which a kernel may have no room.
func (f *Filter) Fit() {
	for len(f.Except) > 0 && f.Charge() > maxCharge {
		f.Except = f.Except[:len(f.Except)-1]
	}
}

// Check returns an error if the filter cannot be applied.
func (f *Filter) Check() error {
	if f.Shortest < 0 || f.Longest < f.Shortest || f.Longest > MaxDatagram {
		return fmt.Errorf("filter: length from %d to %d: must be within 0 to %d", f.Shortest, f.Longest, MaxDatagram)
	}
	for i := range f.Fields {
		if err := f.Fields[i].check(f.Shortest, maxAny); err != nil {
			return err
		}
	}
	if len(f.Except) > maxExcept {
		return fmt.Errorf("filter: %d exceptions: must be at most %d", len(f.Except), maxExcept)
	}
	for _, row := range f.Except {
		for i := range row {
			if err := row[i].check(f.Shortest, maxAny); err != nil {
				return err
			}
		}
	}
	if f.Known != nil {
		if err := f.Known.check(f.Shortest, maxKnown); err != nil {
			return err
		}
	}
	if f.Or != nil {
		return f.Or.Check()
	}
	return nil
}

// check returns an error if a field is not within the first bytes of a datagram, or lists too many values.
func (x *Field) check(within, most int) error {
	if x.Size != 1 && x.Size != 2 && x.Size != 4 || x.Offset < 0 || x.Offset+x.Size > within || len(x.Any)+2*len(x.Within) > most {
		return fmt.Errorf("filter: field of %d bytes at %d with %d values and %d ranges: must have 1, 2 or 4 bytes within the shortest datagram, and at most %d values or half as many ranges",
			x.Size, x.Offset, len(x.Any), len(x.Within), most)
	}
	return nil
}

// Passes applies the filter, as the kernel does if chance lets the datagram in.
func (f *Filter) Passes(data []byte) bool {
	return f.holds(data) || f.Or != nil && f.Or.Passes(data)
}

func (f *Filter) holds(data []byte) bool {
	if len(data) < f.Shortest || len(data) > f.Longest {
		return false
	}
	return all(f.Fields, data) && !slices.ContainsFunc(f.Except, func(row []Field) bool { return all(row, data) })
}

// all returns whether all fields hold.
func all(fields []Field, data []byte) bool {
	for i := range fields {
		if x := &fields[i]; !x.holds(x.of(data)) {
			return false
		}
	}
	return true
}

// of returns the value of the field in a datagram.
func (x *Field) of(data []byte) (v uint32) {
	for _, b := range data[x.Offset : x.Offset+x.Size] {
		v = v<<8 | uint32(b)
	}
	return v
}

func (x *Field) holds(v uint32) bool {
	if len(x.Any) == 0 && len(x.Within) == 0 {
		return v < x.Below
	}
	return slices.Contains(x.Any, v) || slices.ContainsFunc(x.Within, func(r [2]uint32) bool { return r[0] <= v && v <= r[1] })
}

// A Filterer can have the kernel drop datagrams before they cost the process anything.
type Filterer interface {
	// SetFilter applies a filter from now on, and none if it is nil.
	SetFilter(*Filter) error
}
