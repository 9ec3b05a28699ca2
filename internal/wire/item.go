package wire

import (
	"encoding/binary"
	"errors"
	"math"
)

// maxItems bounds how many items a packet may have, so that nobody can make a receiver work long on one.
const maxItems = 512

var (
	errCut      = errors.New("item is cut off")
	errForm     = errors.New("number not in its shortest form, or too large")
	errItems    = errors.New("too many items")
	errFragment = errors.New("fragment out of range")
)

// received is an item that came in.
type received struct {
	number  Number
	channel uint32
	body    []byte
}

// nextItem takes one item off b.
func nextItem(b []byte) (it received, rest []byte, err error) {
	number, b, err := takeUvarint(b, math.MaxUint16)
	if err != nil {
		return it, nil, err
	}
	channel, b, err := takeUvarint(b, math.MaxUint32)
	if err != nil {
		return it, nil, err
	}
	size, b, err := takeUvarint(b, maxDatagram)
	if err != nil {
		return it, nil, err
	}
	if size > uint64(len(b)) {
		return it, nil, errCut
	}
	return received{Number(number), uint32(channel), b[:size]}, b[size:], nil
}

// takeUvarint takes a number of at most most off b. It accepts the shortest form only.
func takeUvarint(b []byte, most uint64) (n uint64, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	switch {
	case size == 0:
		return 0, nil, errCut
	case size < 0 || size != uvarintSize(n) || n > most:
		return 0, nil, errForm
	}
	return n, b[size:], nil
}

// A fragment is a part of a message that is too long for one packet.
type fragment struct {
	message     uint64
	channel     uint32
	part, parts int
	number      Number
	data        []byte
}

func parseFragment(it received) (f fragment, err error) {
	b := it.body
	f.channel = it.channel
	var part, parts, number uint64
	f.message, b, err = takeUvarint(b, math.MaxUint64)
	if err != nil {
		return f, err
	}
	if part, b, err = takeUvarint(b, maxFragments-1); err != nil {
		return f, err
	}
	if parts, b, err = takeUvarint(b, maxFragments); err != nil {
		return f, err
	}
	if number, b, err = takeUvarint(b, math.MaxUint16); err != nil {
		return f, err
	}
	if parts < 2 || part >= parts || len(b) == 0 || Number(number) < FirstMessage {
		return f, errFragment
	}
	f.part, f.parts, f.number, f.data = int(part), int(parts), Number(number), b
	return f, nil
}
