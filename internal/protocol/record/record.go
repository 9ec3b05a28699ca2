// Package record encodes the durable state of a member: one small record for all groups, which survives its crashes
// (PROTOCOLS §1.3).
//
// A member writes nothing per renewal and nothing on the path of a failover. So the record holds bounds, not values: the
// member accepted no term above Ceiling, and no promise that may still stand is longer than Promised. The package is pure:
// the driver stores the bytes.
package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A Record is the durable state of one member.
type Record struct {
	// Council is the id of the council. A record that has it and incarnation 0 says nothing else: the member has learnt which
	// council it belongs to, and has not spoken in it yet.
	Council protocol.CouncilID
	// Inc is the incarnation that was begun last.
	Inc protocol.Inc
	// Ceiling bounds every term that the member has accepted, proposed or folded in any group. It is exact in a Clean record.
	Ceiling uint64
	// Longest is the longest promise of any configuration that was ever in force.
	Longest time.Duration
	// Lock is the longest lock of a local group of any configuration that was ever in force.
	Lock time.Duration
	// Promised is the longest promise that may stand, in terms of the time that was asked for; in a Clean record how long what the member
	// granted stands after it, zero if nothing does.
	Promised time.Duration
	// Epoch is the council's, and Digest that of its members and quorum system.
	Epoch  uint64
	Digest [32]byte
	// Origin is where the record was written.
	Origin Origin
	// Clean says that the member granted nothing after this record. It is believed once: the next start clears it before it says a word.
	Clean bool
	// Void says that the record turned out to be an old copy. A member that starts from it has lost its record, and knows only Inc,
	// Longest and Lock. It is not Clean.
	Void bool
	// Wedge and View belong to reconfiguration and to the fault manager, which alone know what is in them.
	Wedge, View []byte
}

// An Origin tells the machine and the directory in which a record is kept, and the identity that wrote it, from others. So a copy is
// recognised elsewhere, and an old record under a new tag key. Each is the beginning of a digest; zero: not known.
type Origin struct{ Machine, Directory, Identity [8]byte }

// Moved says that a record of origin o is not where it was written.
func (o Origin) Moved(here Origin) bool {
	return differ(o.Machine, here.Machine) || differ(o.Directory, here.Directory)
}

// Disowned says that another identity wrote a record of origin o.
func (o Origin) Disowned(here Origin) bool { return differ(o.Identity, here.Identity) }

// differ says that two digests are known and are not the same.
func differ(a, b [8]byte) bool { return a != [8]byte{} && b != [8]byte{} && a != b }

// ErrDamaged says that bytes are no record, or not all of one. A member that finds that has lost its record.
var ErrDamaged = errors.New("record: damaged")

const (
	version = 6
	// maxBlob bounds Wedge and View.
	maxBlob = 1 << 16
)

// Where the fields are, after the magic. What follows from fixed on are the blobs and the checksum, of four bytes and more
// each.
const (
	atVersion = 4
	atCouncil = atVersion + 1
	atInc     = atCouncil + len(protocol.CouncilID{})
	atCeiling = atInc + 8
	atLongest = atCeiling + 8
	atLock    = atLongest + 8
	atPromise = atLock + 8
	atEpoch   = atPromise + 8
	atDigest  = atEpoch + 8
	atOrigin  = atDigest + 32
	atNote    = atOrigin + 24
	fixed     = atNote + 1
	// lengthSize is the size of a blob's length, and sumSize that of the checksum.
	lengthSize = 4
	sumSize    = 4
)

// The notes.
const (
	noNote    = 0
	cleanNote = 1
	voidNote  = 2
)

var magic = [4]byte{'R', 'G', 'N', 'T'}

var table = crc32.MakeTable(crc32.Castagnoli)

// Append appends the encoding of r: magic, version, the fields in order, big-endian, each blob behind its length, and a
// CRC-32C of all before it.
func (r *Record) Append(b []byte) []byte {
	start := len(b)
	b = append(b, magic[:]...)
	b = append(b, version)
	b = append(b, r.Council[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Inc))
	b = binary.BigEndian.AppendUint64(b, r.Ceiling)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Longest))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Lock))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Promised))
	b = binary.BigEndian.AppendUint64(b, r.Epoch)
	b = append(b, r.Digest[:]...)
	b = append(b, r.Origin.Machine[:]...)
	b = append(b, r.Origin.Directory[:]...)
	b = append(b, r.Origin.Identity[:]...)
	note := byte(noNote)
	switch {
	case r.Void:
		note = voidNote
	case r.Clean:
		note = cleanNote
	}
	b = append(b, note)
	for _, blob := range [][]byte{r.Wedge, r.View} {
		if len(blob) > maxBlob {
			panic(fmt.Sprintf("record: a blob of %d bytes: at most %d fit", len(blob), maxBlob))
		}
		b = binary.BigEndian.AppendUint32(b, uint32(len(blob)))
		b = append(b, blob...)
	}
	return seal(b, start)
}

// ReplaceView puts another View into an encoded record, in place where there is room, and returns the record. The rest of
// it is not looked at, and b must be what Append wrote.
func ReplaceView(b, view []byte) []byte {
	if len(view) > maxBlob {
		panic(fmt.Sprintf("record: a view of %d bytes: at most %d fit", len(view), maxBlob))
	}
	wedge := int(binary.BigEndian.Uint32(b[fixed:]))
	b = binary.BigEndian.AppendUint32(b[:fixed+lengthSize+wedge], uint32(len(view)))
	return seal(append(b, view...), 0)
}

// seal appends the checksum of b from start on.
func seal(b []byte, start int) []byte {
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b[start:], table))
}

// Decode reads exactly what Append wrote. The error wraps ErrDamaged unless the record is whole but of a version that
// this program does not know.
func Decode(b []byte) (Record, error) {
	if len(b) < atVersion+1+sumSize || !bytes.Equal(b[:len(magic)], magic[:]) {
		return Record{}, fmt.Errorf("%w: %d bytes that do not begin like a record", ErrDamaged, len(b))
	}
	body, sum := b[:len(b)-sumSize], binary.BigEndian.Uint32(b[len(b)-sumSize:])
	if got := crc32.Checksum(body, table); got != sum {
		return Record{}, fmt.Errorf("%w: checksum %08x, want %08x", ErrDamaged, got, sum)
	}
	if body[atVersion] != version {
		return Record{}, fmt.Errorf("record: version %d: this program reads version %d only (start the release that wrote it)", body[atVersion], version)
	}
	if len(body) < fixed+2*lengthSize {
		return Record{}, fmt.Errorf("%w: cut short", ErrDamaged)
	}
	var r Record
	r.Council = protocol.CouncilID(body[atCouncil:])
	r.Inc = protocol.Inc(binary.BigEndian.Uint64(body[atInc:]))
	r.Ceiling = binary.BigEndian.Uint64(body[atCeiling:])
	r.Longest = time.Duration(binary.BigEndian.Uint64(body[atLongest:]))
	r.Lock = time.Duration(binary.BigEndian.Uint64(body[atLock:]))
	r.Promised = time.Duration(binary.BigEndian.Uint64(body[atPromise:]))
	r.Epoch = binary.BigEndian.Uint64(body[atEpoch:])
	copy(r.Digest[:], body[atDigest:])
	r.Origin = Origin{[8]byte(body[atOrigin:]), [8]byte(body[atOrigin+8:]), [8]byte(body[atOrigin+16:])}
	switch body[atNote] {
	case noNote:
	case cleanNote:
		r.Clean = true
	case voidNote:
		r.Void = true
	default:
		return Record{}, fmt.Errorf("%w: note %d: must be %d, %d or %d", ErrDamaged, body[atNote], noNote, cleanNote, voidNote)
	}
	if r.Inc > protocol.MaxInc {
		return Record{}, fmt.Errorf("%w: incarnation %d: at most %d", ErrDamaged, r.Inc, protocol.MaxInc)
	}
	if r.Longest < 0 || r.Lock < 0 || r.Promised < 0 {
		return Record{}, fmt.Errorf("%w: longest promise %v, longest lock %v, promised %v: must not be negative", ErrDamaged, r.Longest, r.Lock, r.Promised)
	}
	rest := body[fixed:]
	for _, blob := range []*[]byte{&r.Wedge, &r.View} {
		var err error
		*blob, rest, err = cut(rest)
		if err != nil {
			return Record{}, err
		}
	}
	if len(rest) > 0 {
		return Record{}, fmt.Errorf("%w: %d bytes too many", ErrDamaged, len(rest))
	}
	return r, nil
}

// cut takes a blob and its length off b. The blob is a copy; an empty one is nil.
func cut(b []byte) (blob, rest []byte, err error) {
	if len(b) < lengthSize {
		return nil, nil, fmt.Errorf("%w: cut short", ErrDamaged)
	}
	n := binary.BigEndian.Uint32(b)
	b = b[lengthSize:]
	if n > maxBlob || int(n) > len(b) {
		return nil, nil, fmt.Errorf("%w: a blob of %d bytes where %d are left", ErrDamaged, n, len(b))
	}
	return append([]byte(nil), b[:n]...), b[n:], nil
}
