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

// The first byte of a message: letters follow, or the number of a tenure, with a pidfd of the runner and the cgroup.events of what it started.
const (
	aboutVoters  = 'v'
	aboutProgram = 'p'
)

// programFiles is how many descriptors come with a program.
const programFiles = 2

func encodeProgram(tenure uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{aboutProgram}, tenure)
}

// decodeProgram returns the number of the tenure; zero: the message is about none.
func decodeProgram(b []byte) (tenure uint64) {
	if len(b) != 1+8 || b[0] != aboutProgram {
		return 0
	}
	return binary.BigEndian.Uint64(b[1:])
}

// encode writes what a guardian has to know of voters: for each the letter, its rank, and its addresses, each behind its length.
func encode(voters []Voter) []byte {
	b := []byte{aboutVoters}
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
	if len(b) == 0 || b[0] != aboutVoters {
		return nil, errLetters
	}
	b = b[1:]
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
