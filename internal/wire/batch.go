package wire

import (
	"bytes"
	"encoding/binary"

	"github.com/regentproject/regent/internal/protocol"
)

// Numbers of the packet's own items.
const (
	itemFragment = 1
	itemSummary  = 2
)

// Bounds of the length of a packet, UDP and IP headers not counted.
const (
	// DefaultMTU fits every path that carries IPv6, with room for a tunnel.
	DefaultMTU = 1200
	MinMTU     = 512
	MaxMTU     = maxDatagram
)

const (
	// fragmentRoom is the most that a fragment takes beside its data: item number, channel and length, then message,
	// index, count and number.
	fragmentRoom = 1 + 5 + 3 + 10 + 2 + 2 + 3
	maxFragments = 1024
)

// The longest message can be split even for the shortest packets, or this does not compile.
const _ = uint(maxFragments*(MinMTU-overhead-fragmentRoom) - MaxMessage)

// A Batch is what a member has to say at one instant, encoded and ready to be packed into payloads. The same batch can
// be packed for several receivers: Next returns payload after payload until nothing is left, Rewind starts over.
type Batch struct {
	table *table
	// room is what a payload may take.
	room int
	// message numbers the messages that were split, in all batches of one start.
	message *uint64
	bodies  bytes.Buffer
	items   []item
	payload []byte
	// at is the item to pack next and part the fragment of it.
	at, part int
}

// item is one encoded body.
type item struct {
	number     Number
	channel    uint32
	begin, end int
	message    uint64 // if it is too long for one packet
}

// NewBatch returns an empty batch for packets of at most mtu bytes. Batches of one Endpoint never confuse the parts of
// their messages.
func (e *Endpoint) NewBatch() *Batch {
	return &Batch{table: e.table, room: e.mtu - overhead, message: &e.message}
}

// Reset empties the batch.
func (b *Batch) Reset() {
	b.bodies.Reset()
	b.items = b.items[:0]
	b.Rewind()
}

// Rewind makes Next begin again.
func (b *Batch) Rewind() { b.at, b.part = 0, 0 }

// Empty says that nothing has been added.
func (b *Batch) Empty() bool { return len(b.items) == 0 }

// Add encodes a message for one of the receiver's machines: sender and receiver agree on what a channel
// stands for. It does not keep the message.
func (b *Batch) Add(channel uint32, m protocol.Message) error {
	begin := b.bodies.Len()
	number, err := b.table.append(&b.bodies, m)
	if err != nil {
		return err
	}
	b.add(number, channel, begin)
	return nil
}

func (b *Batch) add(number Number, channel uint32, begin int) {
	it := item{number: number, channel: channel, begin: begin, end: b.bodies.Len()}
	if itemSize(number, channel, it.end-it.begin) > b.room {
		*b.message++
		it.message = *b.message
	}
	b.items = append(b.items, it)
}

// Next packs the next payload: as many whole messages as fit, in order, or one part of a long one. It is valid until
// the next call.
func (b *Batch) Next() ([]byte, bool) {
	b.payload = b.payload[:0]
	for n := 0; b.at < len(b.items) && n < maxItems; n++ {
		it := b.items[b.at]
		if it.message != 0 {
			if len(b.payload) == 0 {
				b.fragment(it)
			}
			break
		}
		if len(b.payload)+itemSize(it.number, it.channel, it.end-it.begin) > b.room {
			break
		}
		b.payload = appendItem(b.payload, it.number, it.channel, b.bodies.Bytes()[it.begin:it.end])
		b.at++
	}
	return b.payload, len(b.payload) > 0
}

// share is how much of a long message goes into one packet.
func (b *Batch) share() int { return b.room - fragmentRoom }

func (b *Batch) parts(it item) int { return (it.end - it.begin + b.share() - 1) / b.share() }

// fragment packs the next part of a long message.
func (b *Batch) fragment(it item) {
	from := it.begin + b.part*b.share()
	data := b.bodies.Bytes()[from:min(from+b.share(), it.end)]
	var head [fragmentRoom]byte
	h := binary.AppendUvarint(head[:0], it.message)
	h = binary.AppendUvarint(h, uint64(b.part))
	h = binary.AppendUvarint(h, uint64(b.parts(it)))
	h = binary.AppendUvarint(h, uint64(it.number))
	b.payload = binary.AppendUvarint(b.payload, itemFragment)
	b.payload = binary.AppendUvarint(b.payload, uint64(it.channel))
	b.payload = binary.AppendUvarint(b.payload, uint64(len(h)+len(data)))
	b.payload = append(append(b.payload, h...), data...)
	if b.part++; b.part == b.parts(it) {
		b.at, b.part = b.at+1, 0
	}
}

func appendItem(b []byte, number Number, channel uint32, body []byte) []byte {
	b = binary.AppendUvarint(b, uint64(number))
	b = binary.AppendUvarint(b, uint64(channel))
	b = binary.AppendUvarint(b, uint64(len(body)))
	return append(b, body...)
}

func itemSize(number Number, channel uint32, body int) int {
	return uvarintSize(uint64(number)) + uvarintSize(uint64(channel)) + uvarintSize(uint64(body)) + body
}

func uvarintSize(n uint64) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}
