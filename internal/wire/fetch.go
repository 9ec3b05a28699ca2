package wire

import (
	"crypto/rand"
	"encoding/binary"
	"slices"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
)

// A member that has not heard of the present configuration of its council, or has none yet, asks for it outside all configurations: its
// question is sealed with the cluster key alone, and answering it changes nothing. The answer is sealed with a key of the member that
// answers and the one that the question names: only a member whose key the asker trusts can answer it. It comes in parts, each of which
// has a question of its own that is as long as the answer.
const (
	offFetchKind  = 3
	offFetchKey   = 4
	offFetchNonce = 8
	fetchHeader   = offFetchNonce + chacha20poly1305.NonceSizeX
	// fetchBody is council, number that the asker has (plus one; zero: none), nonce, part and the asker's own key.
	fetchBody = 16 + 8 + 8 + 2 + identity.Size

	offPartOwner = 8 // the key of the member that answers
	offPartNonce = offPartOwner + identity.Size
	partHeader   = offPartNonce + chacha20poly1305.NonceSizeX
	// partBody is council, number, nonce, part, how many there are, and the length of the data.
	partBody = 16 + 8 + 8 + 2 + 2 + 2
	// partData is how much of the data is in one part.
	partData = 1000
	// fetchSize is the length of a question and of an answer.
	fetchSize = partHeader + partBody + partData + tagSize

	fetchMagic1  = 'c'
	fetchVersion = 1
	kindFetch    = 1
	kindPart     = 2
	maxParts     = 64
)

// A Fetch asks for one part of the present configuration.
type Fetch struct {
	// Council is the asker's; zero if it does not know it yet.
	Council protocol.CouncilID
	// Have is one more than the number of the configuration that the asker has; zero: it has none.
	Have  uint64
	Nonce uint64
	Part  int
	// Key is a public key of the asker.
	Key identity.Public
}

// A Part answers a Fetch.
type Part struct {
	Council protocol.CouncilID
	Number  uint64
	Nonce   uint64
	// Part counts from 0, and there are Parts of them.
	Part, Parts int
	Data        []byte
	// From is the key of the member that answers.
	From identity.Public
}

// Parts returns how many parts there are of so many bytes.
func Parts(size int) int { return max(1, (size+partData-1)/partData) }

// A Courier seals and opens questions for a configuration, and answers to them. It is not safe for concurrent use.
type Courier struct {
	ring    Keyring
	private []identity.Private
}

// NewCourier returns the codec of a member.
func NewCourier(ring Keyring, private []identity.Private) *Courier {
	return &Courier{ring: ring, private: slices.Clone(private)}
}

// Key returns the public key under which the member asks and answers: the oldest, which others are sure to know.
func (c *Courier) Key() (identity.Public, bool) {
	if len(c.private) == 0 {
		return identity.Public{}, false
	}
	return c.private[0].Public(), true
}

// IsFetch says whether a packet claims to be a question for a configuration, or an answer.
func IsFetch(data []byte) bool {
	return len(data) > 1 && data[0] == magic0 && data[1] == fetchMagic1
}

// PartOwner returns the key that a packet names as that of the member which answers. It says nothing about who has sent the packet.
func PartOwner(data []byte) (key identity.Public, ok bool) {
	if !IsFetch(data) || len(data) != fetchSize || data[offFetchKind] != kindPart {
		return key, false
	}
	return identity.Public(data[offPartOwner:]), true
}

// Ask returns a question.
func (c *Courier) Ask(f *Fetch) []byte {
	b := c.header(kindFetch)
	b = b[:fetchHeader]
	rand.Read(b[offFetchNonce:])
	body := make([]byte, 0, fetchSize)
	body = append(body, f.Council[:]...)
	body = binary.BigEndian.AppendUint64(body, f.Have)
	body = binary.BigEndian.AppendUint64(body, f.Nonce)
	body = binary.BigEndian.AppendUint16(body, uint16(f.Part))
	body = append(body, f.Key[:]...)
	body = body[:fetchSize-fetchHeader-tagSize]
	a, err := chacha20poly1305.NewX(expand(c.ring.keys[0].prk, labelFetch, chacha20poly1305.KeySize))
	if err != nil {
		panic("wire: cipher: " + err.Error())
	}
	return a.Seal(b, b[offFetchNonce:fetchHeader], body, b)
}

func (c *Courier) header(kind byte) []byte {
	b := make([]byte, 0, fetchSize)
	b = append(b, magic0, fetchMagic1, fetchVersion, kind)
	return append(b, c.ring.keys[0].id[:]...)
}

// Answer returns the part of data that a question asks for; nil if there is none, or nobody can read it.
func (c *Courier) Answer(f *Fetch, council protocol.CouncilID, number uint64, data []byte) []byte {
	begin := f.Part * partData
	if len(c.private) == 0 || begin > 0 && begin >= len(data) || Parts(len(data)) > maxParts {
		return nil
	}
	own := c.private[0]
	secret, err := own.Shared(f.Key)
	if err != nil {
		return nil
	}
	part := data[begin:min(len(data), begin+partData)]
	from := own.Public()
	b := c.header(kindPart)
	b = append(b, from[:]...)
	b = b[:partHeader]
	rand.Read(b[offPartNonce:])
	body := make([]byte, 0, partBody+partData)
	body = append(body, council[:]...)
	body = binary.BigEndian.AppendUint64(body, number)
	body = binary.BigEndian.AppendUint64(body, f.Nonce)
	body = binary.BigEndian.AppendUint16(body, uint16(f.Part))
	body = binary.BigEndian.AppendUint16(body, uint16(Parts(len(data))))
	body = binary.BigEndian.AppendUint16(body, uint16(len(part)))
	body = append(body, part...)
	body = append(body, make([]byte, partData-len(part))...)
	a, err := chacha20poly1305.NewX(partKey(c.ring.keys[0].prk, secret, from, f.Key))
	if err != nil {
		panic("wire: cipher: " + err.Error())
	}
	return a.Seal(b, b[offPartNonce:partHeader], body, b)
}

// partKey is the key of an answer from the owner of one public key to that of another.
func partKey(prk, secret []byte, from, to identity.Public) []byte {
	return expand(extract(prk, slices.Concat(secret, from[:], to[:])), labelPart, chacha20poly1305.KeySize)
}

// Open opens a packet in place: a question, or an answer of a member whose key is trusted. What it returns is the caller's.
func (c *Courier) Open(data []byte, trusted func(identity.Public) bool) (*Fetch, *Part, datagram.Reason) {
	switch {
	case IsFetch(data) && len(data) > 2 && data[2] != fetchVersion:
		return nil, nil, datagram.Older
	case len(data) != fetchSize:
		return nil, nil, datagram.Short
	}
	ring, ok := c.ring.find(KeyID(data[offFetchKey:]))
	switch {
	case !ok:
		return nil, nil, datagram.UnknownKey
	case data[offFetchKind] == kindFetch:
		f, r := openFetch(c.ring.keys[ring].prk, data)
		return f, nil, r
	case data[offFetchKind] == kindPart:
		p, r := c.openPart(c.ring.keys[ring].prk, data, trusted)
		return nil, p, r
	}
	return nil, nil, datagram.Malformed
}

func openFetch(prk, data []byte) (*Fetch, datagram.Reason) {
	a, err := chacha20poly1305.NewX(expand(prk, labelFetch, chacha20poly1305.KeySize))
	if err != nil {
		panic("wire: cipher: " + err.Error())
	}
	sealed := data[fetchHeader:]
	body, err := a.Open(sealed[:0], data[offFetchNonce:fetchHeader], sealed, data[:fetchHeader])
	if err != nil {
		return nil, datagram.Forged
	}
	f := &Fetch{Council: protocol.CouncilID(body), Have: binary.BigEndian.Uint64(body[16:]), Nonce: binary.BigEndian.Uint64(body[24:]),
		Part: int(binary.BigEndian.Uint16(body[32:])), Key: identity.Public(body[34:])}
	if f.Part >= maxParts || slices.ContainsFunc(body[fetchBody:], func(b byte) bool { return b != 0 }) {
		return nil, datagram.Malformed
	}
	return f, datagram.Accepted
}

func (c *Courier) openPart(prk, data []byte, trusted func(identity.Public) bool) (*Part, datagram.Reason) {
	from := identity.Public(data[offPartOwner:])
	if len(c.private) == 0 || !trusted(from) {
		return nil, datagram.MemberKey
	}
	own := c.private[0]
	secret, err := own.Shared(from)
	if err != nil {
		return nil, datagram.MemberKey
	}
	a, err := chacha20poly1305.NewX(partKey(prk, secret, from, own.Public()))
	if err != nil {
		panic("wire: cipher: " + err.Error())
	}
	sealed := data[partHeader:]
	body, err := a.Open(sealed[:0], data[offPartNonce:partHeader], sealed, data[:partHeader])
	if err != nil {
		return nil, datagram.Forged
	}
	p := &Part{Council: protocol.CouncilID(body), Number: binary.BigEndian.Uint64(body[16:]), Nonce: binary.BigEndian.Uint64(body[24:]),
		Part: int(binary.BigEndian.Uint16(body[32:])), Parts: int(binary.BigEndian.Uint16(body[34:])), From: from}
	size := int(binary.BigEndian.Uint16(body[36:]))
	rest := body[partBody:]
	switch {
	case p.Parts == 0 || p.Parts > maxParts || p.Part >= p.Parts, size > partData, p.Part < p.Parts-1 && size != partData:
		return nil, datagram.Malformed
	case slices.ContainsFunc(rest[size:], func(b byte) bool { return b != 0 }):
		return nil, datagram.Malformed
	}
	p.Data = slices.Clone(rest[:size])
	return p, datagram.Accepted
}
