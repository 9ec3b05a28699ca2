package council

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A Record is what a member keeps of its council on disk. It is a part of the member's record, which another machine owns.
type Record struct {
	Conf *Config
	// Settled says that a majority of the voters of Conf has waited.
	Settled bool
	// Ballot is the highest that the member has promised, and Accepted what it has accepted, for the number after that of Conf.
	Ballot   Ballot
	Accepted Vote
	// Bound is for how long, on any clock, promises of members may stand. Invariant: it falls only once it has passed since the member settled.
	Bound time.Duration
	// Birth is the member's own, and Removed says that Conf has no member of its name and birth.
	Birth   Birth
	Removed bool
	// Heir is the council that the member has agreed to go on with, as a survivor (F2); none if it has not. Until it learns that all
	// survivors have, it takes part in nothing.
	Heir Vote
	// Serial counts the writes.
	Serial uint64
}

// Append appends the encoding.
func (r *Record) Append(b []byte) []byte {
	v := byte(version)
	if r.Heir.Conf != nil {
		v = heired
	}
	b = append(b, v)
	b = r.Conf.Append(b)
	b = appendFlag(b, r.Settled)
	b = appendBallot(b, r.Ballot)
	b = appendVote(b, &r.Accepted)
	b = binary.AppendUvarint(b, uint64(r.Bound))
	b = append(b, r.Birth[:]...)
	b = appendFlag(b, r.Removed)
	if v == heired {
		b = appendVote(b, &r.Heir)
	}
	return binary.AppendUvarint(b, r.Serial)
}

func appendBallot(b []byte, x Ballot) []byte {
	b = binary.AppendUvarint(b, uint64(x.Round))
	b = binary.AppendUvarint(b, uint64(x.Seat))
	b = binary.AppendUvarint(b, uint64(x.Inc))
	return binary.AppendUvarint(b, x.Nonce)
}

func appendVote(b []byte, v *Vote) []byte {
	if v.Conf == nil {
		return append(b, 0)
	}
	b = append(b, 1)
	b = appendBallot(b, v.Ballot)
	return v.Conf.Append(b)
}

func (r *reader) ballot() Ballot {
	return Ballot{Round: uint32(r.uint(1<<32 - 1)), Seat: protocol.Rank(r.uint(uint64(protocol.Nobody))), Inc: protocol.Inc(r.uint(uint64(protocol.MaxInc))),
		Nonce: r.uint(1<<64 - 1)}
}

func (r *reader) vote() (v Vote) {
	if r.flag() {
		v.Ballot, v.Conf = r.ballot(), r.config()
	}
	return v
}

// DecodeRecord reads exactly what Append wrote.
func DecodeRecord(b []byte) (*Record, error) {
	r := reader{b: b}
	v := r.byte()
	if v != version && v != heired {
		r.fail(fmt.Errorf("council: version %d of a record: this program reads versions %d and %d", v, version, heired))
	}
	x := Record{Conf: r.config(), Settled: r.flag(), Ballot: r.ballot(), Accepted: r.vote(), Bound: r.duration(), Birth: r.birth(), Removed: r.flag()}
	if v == heired {
		x.Heir = r.vote()
		if x.Heir.Conf == nil {
			r.fail(errors.New("council: a record of a later version that needs none"))
		}
	}
	x.Serial = r.uint(1<<64 - 1)
	if r.err == nil && len(r.b) > 0 {
		r.fail(fmt.Errorf("council: %d bytes too many", len(r.b)))
	}
	if r.err != nil {
		return nil, r.err
	}
	return &x, x.Conf.Check()
}
