package wire

import (
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/founding"
)

// A founding packet carries one message of package founding, and nothing else can be said in one. It is sealed with the cluster key
// alone, because its sender may not know the council's id. Its nonce is drawn at random: there are no counters and no
// starts. A recorded one can be heard again; the messages bear that.
const (
	offFoundFrom  = 4
	offFoundTo    = 6
	offFoundKey   = 8
	offFoundNonce = 12
	foundHeader   = offFoundNonce + chacha20poly1305.NonceSizeX
	// foundBody is kind, nonce, listing, id and whether the sender may begin a council.
	foundBody    = 1 + 8 + 32 + 16 + 1
	foundSize    = foundHeader + foundBody + tagSize
	foundMagic1  = 'f'
	foundVersion = 1

	kindAsk  = 1
	kindTell = 2
)

// Founding seals and opens founding packets. It is not safe for concurrent use.
type Founding struct {
	self    protocol.Rank
	members int
	ring    Keyring
	aeads   []cipher.AEAD
	ask     founding.Ask
	tell    founding.Tell
}

// NewFounding returns the codec of a member.
func NewFounding(self protocol.Rank, members int, ring Keyring) *Founding {
	f := &Founding{self: self, members: members, ring: ring}
	for _, k := range ring.keys {
		a, err := chacha20poly1305.NewX(expand(k.prk, labelFound, chacha20poly1305.KeySize))
		if err != nil {
			panic("wire: cipher: " + err.Error())
		}
		f.aeads = append(f.aeads, a)
	}
	return f
}

// IsFounding says whether a packet claims to be a founding packet.
func IsFounding(data []byte) bool {
	return len(data) > 1 && data[0] == magic0 && data[1] == foundMagic1
}

// Seal returns a packet with a message of package founding.
func (f *Founding) Seal(to protocol.Rank, m protocol.Message) []byte {
	b := make([]byte, 0, foundSize)
	b = append(b, magic0, foundMagic1, foundVersion, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(f.self))
	b = binary.BigEndian.AppendUint16(b, uint16(to))
	b = append(b, f.ring.keys[0].id[:]...)
	b = b[:foundHeader]
	rand.Read(b[offFoundNonce:])
	body := make([]byte, 0, foundBody)
	switch m := m.(type) {
	case *founding.Ask:
		body = append(binary.BigEndian.AppendUint64(append(body, kindAsk), m.Nonce), m.Listing[:]...)
		body = body[:foundBody]
	case *founding.Tell:
		body = append(binary.BigEndian.AppendUint64(append(body, kindTell), m.Nonce), m.Listing[:]...)
		body = append(append(body, m.ID[:]...), asByte(m.Begins))
	default:
		panic("wire: " + m.Name() + " is no message of the founding of a council")
	}
	return f.aeads[0].Seal(b, b[offFoundNonce:], body, b)
}

func asByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// Open opens a packet in place. The message is valid until the next call.
func (f *Founding) Open(data []byte) (from protocol.Rank, m protocol.Message, r datagram.Reason) {
	switch {
	case len(data) != foundSize:
		return protocol.Nobody, nil, datagram.Short
	case data[2] != foundVersion:
		return protocol.Nobody, nil, datagram.Older
	}
	key, ok := f.ring.find(KeyID(data[offFoundKey:]))
	from = protocol.Rank(binary.BigEndian.Uint16(data[offFoundFrom:]))
	switch {
	case !ok:
		return from, nil, datagram.UnknownKey
	case int(from) >= f.members || from == f.self:
		return from, nil, datagram.Stranger
	case protocol.Rank(binary.BigEndian.Uint16(data[offFoundTo:])) != f.self:
		return from, nil, datagram.Misdirected
	}
	sealed := data[foundHeader:]
	body, err := f.aeads[key].Open(sealed[:0], data[offFoundNonce:foundHeader], sealed, data[:foundHeader])
	if err != nil {
		return from, nil, datagram.Forged
	}
	nonce, listing, id, begins := binary.BigEndian.Uint64(body[1:]), [32]byte(body[9:]), protocol.CouncilID(body[41:]), body[57]
	switch {
	case body[0] == kindAsk && id == (protocol.CouncilID{}) && begins == 0:
		f.ask = founding.Ask{Nonce: nonce, Listing: listing}
		return from, &f.ask, datagram.Accepted
	case body[0] == kindTell && begins <= 1:
		f.tell = founding.Tell{Nonce: nonce, Listing: listing, ID: id, Begins: begins == 1}
		return from, &f.tell, datagram.Accepted
	}
	return from, nil, datagram.Malformed
}
