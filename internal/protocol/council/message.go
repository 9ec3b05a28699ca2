package council

import (
	"cmp"
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A Ballot orders the attempts to choose one configuration. No two lives of any members have a ballot in common (R2).
type Ballot struct {
	Round uint32
	Seat  protocol.Rank
	Inc   protocol.Inc
	// Nonce is drawn once in each life of the proposer.
	Nonce uint64
}

// Compare orders ballots.
func (b Ballot) Compare(o Ballot) int {
	return cmp.Or(cmp.Compare(b.Round, o.Round), cmp.Compare(b.Seat, o.Seat), cmp.Compare(b.Inc, o.Inc), cmp.Compare(b.Nonce, o.Nonce))
}

// below says whether b comes before o.
func (b Ballot) below(o Ballot) bool { return b.Compare(o) < 0 }

// String shows 3.b for the third round of b.
func (b Ballot) String() string { return fmt.Sprintf("%d.%v", b.Round, b.Seat) }

// A Vote is a configuration that an acceptor has accepted; Conf is nil if it has accepted none.
type Vote struct {
	Ballot Ballot
	Conf   *Config
}

// Prepare asks an acceptor to accept nothing below Ballot for the configuration with number Slot.
type Prepare struct {
	Slot   uint64
	Ballot Ballot
}

// Promise answers Prepare.
type Promise struct {
	Slot     uint64
	Ballot   Ballot
	Accepted Vote
	// Highest bounds every term that the sender has accepted or proposed.
	Highest uint64
	Serial  uint64
}

// Accept asks an acceptor to accept Conf.
type Accept struct {
	Slot   uint64
	Ballot Ballot
	Conf   *Config
}

// Accepted answers Accept.
type Accepted struct {
	Slot   uint64
	Ballot Ballot
	Serial uint64
}

// Refused answers Prepare and Accept.
type Refused struct {
	Slot   uint64
	Ballot Ballot
	// Promised is the ballot that the sender is bound by. It is below Ballot if the sender does not vote.
	Promised Ballot
	// Fixed says that the sender cannot take part in any change: it keeps no record.
	Fixed bool
}

// Fetch asks for the configuration, if it has a higher number than the sender's.
type Fetch struct {
	Have uint64
	// Blank says that the sender has no configuration at all.
	Blank bool
	// Council is that of the sender's configuration.
	Council protocol.CouncilID
}

// Chosen brings a configuration that was chosen. It answers Fetch, and any message of a lower number.
type Chosen struct {
	Conf *Config
	// Bound is that of the sender.
	Bound time.Duration
}

// Carry says how far its sender has got in a configuration. It is repeated until the sender is settled and no change is running.
type Carry struct {
	Number uint64
	// Waited says that nothing stands any more that the sender promised before it adopted the configuration. Settled says that a
	// majority of its voters has waited.
	Waited, Settled bool
	// Highest bounds every term that the sender has accepted or proposed.
	Highest uint64
	// Leads is how many groups the sender leads, and Assigned how many it knows the leaders of.
	Leads, Assigned uint32
	Serial          uint64
}

// Recover asks what a member has forgotten that has no trusted record, and is a Prepare at the same time. A member that has a
// trusted record sends it without a ballot, so that a restored copy is found out.
type Recover struct {
	Slot   uint64
	Ballot Ballot
	// Serial is the number of the sender's record; zero if it has none.
	Serial uint64
	Nonce  uint64
}

// Known answers Recover.
type Known struct {
	Slot   uint64
	Ballot Ballot
	// Speaks says that the sender has a trusted record, and so that the rest counts.
	Speaks bool
	// Asks says that the sender has a record that it does not trust, and asks itself.
	Asks     bool
	Settled  bool
	Promised Ballot
	Accepted Vote
	Highest  uint64
	// Bound is for how long, on any clock, promises of members may stand.
	Bound time.Duration
	// Heard is the highest serial that the sender has heard of the asker.
	Heard uint64
	Nonce uint64
}

// Name says council.Prepare.
func (*Prepare) Name() string { return "council.Prepare" }

// Name says council.Promise.
func (*Promise) Name() string { return "council.Promise" }

// Name says council.Accept.
func (*Accept) Name() string { return "council.Accept" }

// Name says council.Accepted.
func (*Accepted) Name() string { return "council.Accepted" }

// Name says council.Refused.
func (*Refused) Name() string { return "council.Refused" }

// Name says council.Fetch.
func (*Fetch) Name() string { return "council.Fetch" }

// Name says council.Chosen.
func (*Chosen) Name() string { return "council.Chosen" }

// Name says council.Carry.
func (*Carry) Name() string { return "council.Carry" }

// Name says council.Recover.
func (*Recover) Name() string { return "council.Recover" }

// Name says council.Known.
func (*Known) Name() string { return "council.Known" }

// Copy returns an independent copy. Configurations are never changed, and are shared.
func (m *Prepare) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Promise) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Accept) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Accepted) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Refused) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Fetch) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Chosen) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Carry) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Recover) Copy() protocol.Message { c := *m; return &c }

// Copy returns an independent copy.
func (m *Known) Copy() protocol.Message { c := *m; return &c }
