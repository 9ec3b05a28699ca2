package regent

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
)

// A Group is an election: at every instant at most one program, at one member of the council, leads it. Any name is a
// group, without being set up anywhere; all groups of a council share its packets, so that ten thousand idle groups
// cost what one does.
type Group struct {
	seen
	verifier verifier
	// candidate is what campaigns ask for: a value to announce, and the length of leases; zero: Timing.Lease.
	candidate session.Candidate
}

// seen is what all groups have in common: they have a name and can be looked at.
type seen struct{ election election }

// Name returns the name of the group.
func (g *seen) Name() string { return g.election.name() }

// View returns what the member believes now. At a [Member] it does not wait, and the error is nil. At a [Client] it asks the
// agent.
func (g *seen) View(ctx context.Context) (View, error) { return g.election.view(ctx) }

// Watch yields the present view and then every change, "no leader" among them, until ctx ends. If it ends for another
// reason, the last view has no leader, and comes with an error: [ErrClosed], or why the agent refuses. A
// slow watcher gets the latest views, and [View.Missed] counts the others.
func (g *seen) Watch(ctx context.Context) iter.Seq2[View, error] { return g.election.watch(ctx) }

// Lead campaigns and calls f while this program leads, again after each loss, until ctx ends or f returns while it
// still leads.
//
// The context of f ends when f must stop: when ctx ends, or [Timing.Guard] before the lease does if it was not renewed.
// No other program leads before f has returned, unless the lease has run out by then: then f was paused for longer than the
// lease, or does not watch its context, and the network was down as well. What f does to the outside must bear the
// stamp or the token of its lease, so that the receiver can refuse what comes too late (package fence).
//
// When f returns by itself, while it leads, Lead gives the group up and returns what f returned. When ctx has ended, Lead
// returns nil, after f has returned and the group was given up.
func (g *Group) Lead(ctx context.Context, f func(ctx context.Context, l *Lease) error) error {
	return lead(ctx, g.Campaign, f, g.election.gone)
}

// Announcing returns the group for campaigns whose leaderships announce a value from their beginning, such as an address: a text in UTF-8 of at
// most 256 bytes. All members learn it right after the election, and show it as [View.Value]; [Group.Verify] returns it from the leader
// itself. [Lease.Announce] changes it.
//
//	g.Announcing("http://10.0.0.1:8080/").Lead(ctx, serve)
func (g *Group) Announcing(value string) *Group {
	with := *g
	with.candidate.Value = value
	return &with
}

// Campaign waits until this program leads the group, and returns its lease. The lease renews itself until
// [Lease.Resign], or until it is lost. Several programs of one member take turns, in the order in which they asked.
func (g *Group) Campaign(ctx context.Context) (*Lease, error) {
	if err := session.CheckValue(g.candidate.Value); err != nil {
		return nil, err
	}
	h, err := g.election.campaign(ctx, g.candidate, nil)
	if err != nil {
		return nil, err
	}
	return &Lease{leadership{handle: h}}, nil
}

// WithLease returns the group for programs that want leases of the given length instead of [Timing.Lease]; zero: that. A long
// lease survives long pauses, and if its holder dies the group is without a leader for as long. [Group.Campaign] refuses
// a length that is too short for [Timing.Renew], beyond [Timing.LongestLease], or the ninth at this member.
//
// Programs that campaign in one group should agree on the length. A leadership has that of its own program.
func (g *Group) WithLease(length time.Duration) *Group {
	with := *g
	with.candidate.Lease = length
	return &with
}

// A Proof says that a member led a group, or leads it still: it was said by the leader itself, which will not let itself
// be replaced before the proof is over.
type Proof struct {
	// Leader is the name of the member, and Token its token.
	Leader string
	Token  uint64
	// Value is what the leader announces ([Group.Announcing]).
	Value string
	// until is the instant of this member's clock before which the proof holds.
	until protocol.Time
	now   func() protocol.Time
}

// Valid says whether the proof still holds.
func (p *Proof) Valid() bool { return p.Remaining() > 0 }

// Remaining returns for how much longer the proof holds; zero once it is over.
func (p *Proof) Remaining() time.Duration { return max(0, p.until.Sub(p.now())) }

// ErrNoLeader says that nobody could be proven to lead.
var ErrNoLeader = errors.New("no leader")

// Verify asks the leader of the group whether it leads. The proof holds for about a round trip. The error wraps
// [ErrNoLeader] if no leader is known, or if it does not confirm that it leads.
func (g *Group) Verify(ctx context.Context) (*Proof, error) { return g.verifier.verify(ctx) }

// gone says whether the member is closed.
func (m *Member) gone() bool {
	select {
	case <-m.loop.Ended():
		return true
	default:
		return false
	}
}
