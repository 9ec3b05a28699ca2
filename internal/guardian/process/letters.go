package process

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
)

// Marker is the argument zero of a guardian.
const Marker = "regent-guardian"

// A Voter is where a report goes, and what seals it.
type Voter struct {
	Rank   protocol.Rank
	Addrs  []netip.AddrPort
	Letter obituary.Letter
}

// maxLetters bounds a message with letters.
const maxLetters = 1 << 18

// encode writes what a guardian is told: for each voter the letter, its rank, and its addresses, each behind its length.
func encode(voters []Voter) []byte {
	var b []byte
	for i := range voters {
		v := &voters[i]
		b = append(append(b, v.Letter.Head[:]...), v.Letter.Key[:]...)
		b = binary.AppendUvarint(b, uint64(v.Rank))
		b = binary.AppendUvarint(b, uint64(len(v.Addrs)))
		for _, a := range v.Addrs {
			raw, _ := a.MarshalBinary() // never fails
			b = append(binary.AppendUvarint(b, uint64(len(raw))), raw...)
		}
	}
	return b
}

var errLetters = errors.New("guardian: malformed letters")

// decode reads what encode wrote.
func decode(b []byte) (voters []Voter, err error) {
	uvarint := func(most uint64) int {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > most {
			err = errLetters
			return 0
		}
		b = b[size:]
		return int(n)
	}
	for len(b) > 0 {
		var v Voter
		if len(b) < obituary.HeadSize+obituary.KeySize {
			return nil, errLetters
		}
		b = b[copy(v.Letter.Head[:], b):]
		b = b[copy(v.Letter.Key[:], b):]
		v.Rank = protocol.Rank(uvarint(protocol.MaxMembers - 1))
		for range uvarint(1 << 10) {
			n := uvarint(uint64(len(b)))
			if err != nil || n > len(b) {
				return nil, errLetters
			}
			var a netip.AddrPort
			if a.UnmarshalBinary(b[:n]) != nil {
				return nil, errLetters
			}
			v.Addrs, b = append(v.Addrs, a), b[n:]
		}
		if err != nil {
			return nil, err
		}
		voters = append(voters, v)
	}
	return voters, nil
}
