package explore

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"

	"github.com/regentproject/regent/internal/protocol"
)

// A key is 128 bits of the hash of a state.
type key [16]byte

// listEnd ends a list whose entries begin with a rank or a hash.
const listEnd = 0xff

func hash(b []byte) key {
	sum := sha256.Sum256(b)
	return key(sum[:16])
}

// key returns what the world is known by. What is on its way counts as a set: the order in which messages were sent
// matters only where they arrive in order.
func (w *world) key() key {
	b := make([]byte, 0, 512)
	b = append(b, byte(w.quarter), byte(w.holds), byte(w.duplicates), byte(w.crashes), byte(w.resignations), byte(w.campaigns), byte(w.slow), byte(w.lost))
	for i, m := range w.members {
		if m.state == (key{}) {
			m.state = m.hash()
		}
		b = append(b, m.state[:]...)
		b = binary.AppendVarint(b, int64(w.now()-w.members[i].stepped))
	}
	hashes := make([]key, 0, len(w.net))
	for _, m := range w.net {
		if k := m.hash; m.held || w.options.Free {
			hashes = append(hashes, k)
		} else {
			b = append(b, k[:]...)
		}
	}
	slices.SortFunc(hashes, func(x, y key) int { return slices.Compare(x[:], y[:]) })
	b = append(b, listEnd)
	for _, k := range hashes {
		b = append(b, k[:]...)
	}
	return hash(w.ledger.append(b, w.now()))
}

// hash encodes a member. It is worked out once for each member that a turn has changed.
func (m *member) hash() key {
	b := make([]byte, 0, 1024)
	b = binary.AppendUvarint(b, uint64(m.starts))
	if m.machine == nil {
		return hash(append(append(b, 0), m.record...))
	}
	b = append(b, 1)
	b = binary.AppendUvarint(b, m.program)
	for _, x := range []bool{m.asked, m.late} {
		if x {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	return hash(m.machine.AppendState(b))
}

// hashMessage encodes a message by its fields, whatever they are: messages are plain structs.
func hashMessage(from protocol.Ident, to protocol.Rank, m protocol.Message) key {
	b := append([]byte(nil), m.Name()...)
	b = binary.AppendUvarint(b, uint64(from.Rank))
	b = binary.AppendUvarint(b, uint64(from.Inc))
	b = binary.AppendUvarint(b, uint64(to))
	return hash(appendValue(b, reflect.ValueOf(m).Elem()))
}

func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(b, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return binary.AppendUvarint(b, v.Uint())
	case reflect.String:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		return append(b, v.String()...)
	case reflect.Slice, reflect.Array:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		for i := range v.Len() {
			b = appendValue(b, v.Index(i))
		}
		return b
	case reflect.Pointer:
		if v.IsNil() {
			return append(b, 0)
		}
		return appendValue(append(b, 1), v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			b = appendValue(b, v.Field(i))
		}
		return b
	}
	panic(fmt.Sprintf("explore: a message with a field of type %v cannot be compared", v.Type()))
}
