package check

import (
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Quiet is S-COMM: in the end only the links from the leader carry messages of the elector; with Both those to it as well
// (the second half of S-P). What the datagram layer sends on its own is not the elector's.
type Quiet struct {
	opinions opinions
	end      end
	both     bool
	counts   []int // by sender and receiver, in the last part of the run
}

// NewQuiet returns a checker that gives the core the settle time to agree. It needs the records of messages.
func NewQuiet(t Truth, settle time.Duration, both bool) *Quiet {
	return &Quiet{opinions: newOpinions(t), end: newEnd(settle), both: both, counts: make([]int, t.Members()*t.Members())}
}

// Name returns S-COMM.
func (q *Quiet) Name() string { return "S-COMM" }

// Observe counts the messages of the last part on each link, and refuses those on links that should be silent.
func (q *Quiet) Observe(r *sim.Record) error {
	q.end.reached(r)
	q.opinions.follow(r)
	if r.Ev != sim.EvSend || !q.end.within(r.T) || r.Why == "packet" {
		return nil
	}
	n := q.opinions.truth.Members()
	count := &q.counts[int(r.Node)*n+int(r.Peer.Rank)]
	*count++
	leader := q.opinions.of[q.end.core.Min()].trusts.Rank
	if r.Node != leader && !(q.both && r.Peer.Rank == leader) {
		return Violatedf(q.Name(), r.T, "%v sends %s to %v, although %v leads: %d on that link since the end began", r.Node, r.Why, r.Peer.Rank, leader, *count)
	}
	return nil
}

// Used returns on how many links there were messages in the last part.
func (q *Quiet) Used() int {
	used := 0
	for _, n := range q.counts {
		if n > 0 {
			used++
		}
	}
	return used
}

// Finish sees that the leader did speak to all others of the core.
func (q *Quiet) Finish() error {
	leader := q.opinions.of[max(0, min(int(q.end.core.Min()), len(q.opinions.of)-1))].trusts.Rank
	if q.Used() == 0 || leader == protocol.Nobody {
		return nil // a run through ports, or one without an end
	}
	for r := range q.end.core.All() {
		if r != leader && q.counts[int(leader)*q.opinions.truth.Members()+int(r)] == 0 {
			return Violatedf(q.Name(), q.opinions.truth.Now(), "%v leads, but said nothing to %v", leader, r)
		}
	}
	return nil
}
