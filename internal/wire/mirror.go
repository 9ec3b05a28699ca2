package wire

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
)

// Messages are plain structs: their packages know nothing of the wire. A mirror of such a type has the same layout and
// the tags of package cbor, so that the library can be handed the message's own memory under the mirror's type.
//
// The key of a field is its place among the exported fields, from 1 on; zero fields are left out. A field that must
// have another key, because one before it is gone, says so in a tag: `wire:"7"`.

var (
	marshaler   = reflect.TypeFor[encoding.BinaryMarshaler]()
	unmarshaler = reflect.TypeFor[encoding.BinaryUnmarshaler]()
)

// mirror returns the mirror of t. It refuses a type that has no one encoding.
func mirror(t reflect.Type) (reflect.Type, error) {
	if opaque(t) {
		return t, nil
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String,
		reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		return t, nil
	case reflect.Slice, reflect.Array:
		elem, err := mirror(t.Elem())
		if err != nil || elem == t.Elem() {
			return t, err
		}
		if t.Kind() == reflect.Array {
			return reflect.ArrayOf(t.Len(), elem), nil
		}
		return reflect.SliceOf(elem), nil
	case reflect.Struct:
		return mirrorStruct(t)
	}
	return nil, fmt.Errorf("%v: a message may have no %v", t, t.Kind())
}

func mirrorStruct(t reflect.Type) (reflect.Type, error) {
	keys, err := fieldKeys(t)
	if err != nil {
		return nil, err
	}
	fields := make([]reflect.StructField, t.NumField())
	for i := range fields {
		f := t.Field(i)
		if keys[i] == 0 { // only there for the layout
			fields[i] = reflect.StructField{Name: fmt.Sprint("skip", i), PkgPath: "wire", Type: f.Type}
			continue
		}
		fields[i].Name = f.Name
		fields[i].Type, err = mirror(f.Type)
		if err != nil {
			return nil, fmt.Errorf("%v.%s: %w", t, f.Name, err)
		}
		fields[i].Tag = reflect.StructTag(fmt.Sprintf(`cbor:"%d,keyasint,omitempty,omitzero"`, keys[i]))
	}
	return reflect.StructOf(fields), nil
}

// fieldKeys returns the key of each field of a struct, 0 for those that do not travel.
func fieldKeys(t reflect.Type) ([]int, error) {
	keys := make([]int, t.NumField())
	taken := make(map[int]string)
	key := 0
	for i := range keys {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		key++
		if tag := f.Tag.Get("wire"); tag != "" {
			n, err := strconv.Atoi(tag)
			if err != nil || n < 1 || n > maxMap {
				return nil, fmt.Errorf("%v.%s: key %q: must be a number from 1 to %d", t, f.Name, tag, maxMap)
			}
			key = n
		}
		if other, ok := taken[key]; ok || key > maxMap {
			return nil, fmt.Errorf("%v.%s: key %d is that of %q, or above %d", t, f.Name, key, other, maxMap)
		}
		keys[i], taken[key] = key, f.Name
	}
	return keys, nil
}

// opaque says that a type encodes itself, as a byte string. A pointer to one that does is left out if it is nil.
func opaque(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		return t.Implements(marshaler) && t.Implements(unmarshaler)
	}
	return t.Implements(marshaler) && reflect.PointerTo(t).Implements(unmarshaler)
}
