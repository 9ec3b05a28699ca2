package council

import (
	"encoding/binary"
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
	// Serial counts the writes.
	Serial uint64
}

// Append appends the encoding.
func (r *Record) Append(b []byte) []byte {
	b = append(b, version)
	b = r.Conf.Append(b)
	b = appendFlag(b, r.Settled)
	b = appendBallot(b, r.Ballot)
	b = appendVote(b, &r.Accepted)
	b = binary.AppendUvarint(b, uint64(r.Bound))
	b = append(b, r.Birth[:]...)
	b = appendFlag(b, r.Removed)
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
	if v := r.byte(); v != version {
		r.fail(fmt.Errorf("council: version %d of a record: this program reads version %d", v, version))
	}
	x := Record{Conf: r.config(), Settled: r.flag(), Ballot: r.ballot(), Accepted: r.vote(), Bound: r.duration(), Birth: r.birth(), Removed: r.flag(),
		Serial: r.uint(1<<64 - 1)}
	if r.err == nil && len(r.b) > 0 {
		r.fail(fmt.Errorf("council: %d bytes too many", len(r.b)))
	}
	if r.err != nil {
		return nil, r.err
	}
	return &x, x.Conf.Check()
}
