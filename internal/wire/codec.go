package wire

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/fxamacker/cbor/v2"

	"github.com/regentproject/regent/internal/protocol"
)

// Limits of one message.
const (
	// MaxMessage is the length of the longest body, before it is split.
	MaxMessage = 256 << 10
	maxDepth   = 8
	maxArray   = 1 << 14
	maxMap     = 64
)

// encMode writes the core deterministic form of RFC 8949, so that a message has one encMode.
var encMode = must(cbor.EncOptions{
	Sort:          cbor.SortCoreDeterministic,
	ShortestFloat: cbor.ShortestFloat16,
	NilContainers: cbor.NilContainerAsEmpty,
	IndefLength:   cbor.IndefLengthForbidden,
	TagsMd:        cbor.TagsForbidden,
}.UserBufferEncMode())

// decMode refuses what encMode never writes and a receiver could stumble over. Fields that it does not know are
// skipped: a newer build may add one that an older can do without, and raises the version for any other.
var decMode = must(cbor.DecOptions{
	DupMapKey:        cbor.DupMapKeyEnforcedAPF,
	IndefLength:      cbor.IndefLengthForbidden,
	TagsMd:           cbor.TagsForbidden,
	MaxNestedLevels:  maxDepth,
	MaxArrayElements: maxArray,
	MaxMapPairs:      maxMap,
	UTF8:             cbor.UTF8RejectInvalid,
	NaN:              cbor.NaNDecodeForbidden,
	Inf:              cbor.InfDecodeForbidden,
	IntDec:           cbor.IntDecConvertSignedOrFail,
}.DecMode())

func must[T any](mode T, err error) T {
	if err != nil {
		panic("wire: " + err.Error())
	}
	return mode
}

// A Number names a type of message on the wire, for ever.
type Number uint16

// A Type is a row of the table of messages.
type Type struct {
	Number Number
	// Message is a message of the type; only its type counts.
	Message protocol.Message
	// Recovery messages may come from a member that does not know its incarnation. They must be harmless when repeated.
	Recovery bool
	// Proof messages prove by themselves what they say, whichever start of the receiver they are meant for. So they count in packets
	// for another incarnation as well: that is how an outdated process learns that it is one.
	Proof bool
	// Any messages count in packets of members that have another configuration of the same council, too: of an earlier or a later number.
	Any bool

	mirror reflect.Type
}

// A table finds types by number and by Go type.
type table struct {
	byNumber map[Number]*Type
	byType   map[reflect.Type]*Type
}

// newTable panics if a row cannot be distinguished from another or is in the way of the packet's own items.
func newTable(types []Type) *table {
	t := &table{make(map[Number]*Type), make(map[reflect.Type]*Type)}
	for i := range types {
		row, typ := &types[i], reflect.TypeOf(types[i].Message)
		switch {
		case typ == nil || typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct:
			panic(fmt.Sprintf("wire: message %d is a %v: must be a pointer to a struct", row.Number, typ))
		case row.Number < FirstMessage || t.byNumber[row.Number] != nil || t.byType[typ] != nil:
			panic(fmt.Sprintf("wire: message %d, %s: number or type is taken", row.Number, row.Message.Name()))
		}
		var err error
		row.mirror, err = mirror(typ.Elem())
		if err != nil {
			panic(fmt.Sprintf("wire: message %d, %s: %v", row.Number, row.Message.Name(), err))
		}
		t.byNumber[row.Number], t.byType[typ] = row, row
	}
	return t
}

// append appends the body of m to b and returns the number of its type.
func (t *table) append(b *bytes.Buffer, m protocol.Message) (Number, error) {
	row := t.byType[reflect.TypeOf(m)]
	if row == nil {
		return 0, fmt.Errorf("wire: message %s has no number: add it to the table", m.Name())
	}
	begin := b.Len()
	if err := encMode.MarshalToBuffer(reflect.NewAt(row.mirror, reflect.ValueOf(m).UnsafePointer()).Interface(), b); err != nil {
		b.Truncate(begin)
		return 0, fmt.Errorf("wire: message %s: %w", m.Name(), err)
	}
	if n := b.Len() - begin; n > MaxMessage {
		b.Truncate(begin)
		return 0, fmt.Errorf("wire: message %s has %d bytes: must have at most %d; send it in parts", m.Name(), n, MaxMessage)
	} else if n > maxArray { // only then can an array be too long
		if err := decMode.Wellformed(b.Bytes()[begin:]); err != nil {
			b.Truncate(begin)
			return 0, fmt.Errorf("wire: message %s: %w; send it in parts", m.Name(), err)
		}
	}
	return row.Number, nil
}

// A pool holds messages for reuse. One message of it is given out at most once between two resets.
type pool struct {
	table *table
	rows  map[Number]*freeList
	// used lists the free lists with messages given out.
	used []*freeList
}

// proves says whether messages of a type prove what they say.
func (p *pool) proves(n Number) bool {
	list := p.rows[n]
	return list != nil && list.row.Proof
}

type freeList struct {
	row      *Type
	messages []protocol.Message
	values   []reflect.Value
	mirrors  []any // the same memory
	out      int
}

func newPool(t *table) *pool {
	p := &pool{table: t, rows: make(map[Number]*freeList)}
	for n, row := range t.byNumber {
		p.rows[n] = &freeList{row: row}
	}
	return p
}

// reset takes all messages back.
func (p *pool) reset() {
	for _, s := range p.used {
		s.out = 0
	}
	p.used = p.used[:0]
}

// decode reads a body into a message that is valid until the next reset.
func (s *freeList) decode(p *pool, body []byte) (protocol.Message, error) {
	if s.out == 0 {
		p.used = append(p.used, s)
	}
	if s.out == len(s.messages) {
		v := reflect.New(reflect.TypeOf(s.row.Message).Elem())
		s.messages = append(s.messages, v.Interface().(protocol.Message))
		s.values = append(s.values, v.Elem())
		s.mirrors = append(s.mirrors, reflect.NewAt(s.row.mirror, v.UnsafePointer()).Interface())
	}
	m, v, mirror := s.messages[s.out], s.values[s.out], s.mirrors[s.out]
	s.out++
	wipe(v)
	if err := decMode.Unmarshal(body, mirror); err != nil {
		return nil, err
	}
	return m, nil
}

// wipe zeroes a struct but keeps the memory of its slices, so that a field that a body leaves out does not show what
// an earlier message had there.
func wipe(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case !f.CanSet():
		case f.Kind() == reflect.Slice && !f.IsNil():
			f.SetLen(f.Cap())
			f.Clear()
			f.SetLen(0)
		default:
			f.SetZero()
		}
	}
}
