package wire

import (
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"slices"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/founding"
)

// A founding packet carries one message of package founding, and nothing else can be said in one. It is sealed with the keys of its sender
// and its receiver and the cluster key, but without the council's id, which its sender may not know. Its nonce is drawn at random: there are no counters and no
// starts. A recorded one can be heard again; the messages bear that.
const (
	offFoundFrom  = 4
	offFoundTo    = 6
	offFoundKey   = 8
	offFoundMine  = 12 // the sender's own key
	offFoundYours = 17 // the receiver's own key
	offFoundNonce = 22
	foundHeader   = offFoundNonce + chacha20poly1305.NonceSizeX
	// foundBody is kind, nonce, listing, id and whether the sender may begin a council.
	foundBody    = 1 + 8 + 32 + 16 + 1
	foundSize    = foundHeader + foundBody + tagSize
	foundMagic1  = 'f'
	foundVersion = 2

	kindAsk  = 1
	kindTell = 2
)

// Founding seals and opens founding packets. It is not safe for concurrent use.
type Founding struct {
	pairs *Pairs
	ask   founding.Ask
	tell  founding.Tell
}

// NewFounding returns the codec of a member.
func NewFounding(p *Pairs) *Founding { return &Founding{pairs: p} }

// SetKeys puts other keys in force.
func (f *Founding) SetKeys(p *Pairs) { f.pairs = p }

// Revoked says that a member has no key here: it cannot be asked, and its answers do not open.
func (f *Founding) Revoked(r protocol.Rank) bool {
	return r != f.pairs.self && len(f.pairs.peers[r].ids) == 0
}

// aead returns the cipher of a lane. Founding packets are rare, so it is derived for each.
func (f *Founding) aead(peer protocol.Rank, l lane) cipher.AEAD {
	p := &f.pairs.peers[peer]
	from := &p.in
	if l.out {
		from = &p.out
	}
	prk := extract(f.pairs.ring.keys[l.ring].prk, from[l.own][l.theirs])
	a, err := chacha20poly1305.NewX(expand(prk, labelFound, chacha20poly1305.KeySize))
	if err != nil {
		panic("wire: cipher: " + err.Error())
	}
	return a
}

// IsFounding says whether a packet claims to be a founding packet.
func IsFounding(data []byte) bool {
	return len(data) > 1 && data[0] == magic0 && data[1] == foundMagic1
}

// Refuse returns why a packet that is no founding packet is dropped by a member that does not know the id of its council: the first reason that
// can be seen without it. All packets of councils are of another one than the member knows.
func (f *Founding) Refuse(data []byte) datagram.Reason {
	if r := shape(data); r != datagram.Accepted {
		return r
	}
	var h header
	var d datagram.Header
	parseHeader(data, &h, &d)
	if _, ok := f.pairs.ring.find(h.key); !ok {
		return datagram.UnknownKey
	}
	return datagram.OtherCouncil
}

// Seal returns packets with a message of package founding: one for each combination of keys, because nothing was heard yet of which the
// receiver has. There is none for a member that is revoked.
func (f *Founding) Seal(to protocol.Rank, m protocol.Message) [][]byte {
	body := foundingBody(m)
	var out [][]byte
	for i, own := range f.pairs.own {
		for j, theirs := range f.pairs.peers[to].ids {
			b := make([]byte, 0, foundSize)
			b = append(b, magic0, foundMagic1, foundVersion, 0)
			b = binary.BigEndian.AppendUint16(b, uint16(f.pairs.self))
			b = binary.BigEndian.AppendUint16(b, uint16(to))
			b = append(b, f.pairs.ring.keys[0].id[:]...)
			b = append(b, own[:]...)
			b = append(b, theirs[:]...)
			b = b[:foundHeader]
			rand.Read(b[offFoundNonce:])
			a := f.aead(to, lane{own: int8(i), theirs: int8(j), out: true})
			out = append(out, a.Seal(b, b[offFoundNonce:], body, b))
		}
	}
	return out
}

// foundingBody encodes a message.
func foundingBody(m protocol.Message) []byte {
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
	return body
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
	ring, ok := f.pairs.ring.find(KeyID(data[offFoundKey:]))
	from = protocol.Rank(binary.BigEndian.Uint16(data[offFoundFrom:]))
	switch {
	case !ok:
		return from, nil, datagram.UnknownKey
	case int(from) >= len(f.pairs.peers) || from == f.pairs.self:
		return from, nil, datagram.Stranger
	case protocol.Rank(binary.BigEndian.Uint16(data[offFoundTo:])) != f.pairs.self:
		return from, nil, datagram.Misdirected
	case len(f.pairs.peers[from].ids) == 0:
		return from, nil, datagram.Revoked
	}
	theirs, own := slices.Index(f.pairs.peers[from].ids, identity.ID(data[offFoundMine:])), slices.Index(f.pairs.own, identity.ID(data[offFoundYours:]))
	if theirs < 0 || own < 0 {
		return from, nil, datagram.MemberKey
	}
	sealed := data[foundHeader:]
	a := f.aead(from, lane{ring: int8(ring), own: int8(own), theirs: int8(theirs)})
	body, err := a.Open(sealed[:0], data[offFoundNonce:foundHeader], sealed, data[:foundHeader])
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
