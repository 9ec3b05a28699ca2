package regent

import (
	"context"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/view"
)

// Views asks all members who leads a quorum group, and returns what this one knows and what the others answered, in the order of the
// council. It waits two of [Timing.RoundTrip] at most. Members do not always agree: one that is cut off learns late that another leads.
// See [Group.Verify] for proof.
func (m *Member) Views(ctx context.Context, group string) ([]view.MemberView, error) {
	if err := checkGroup(group); err != nil {
		return nil, err
	}
	if err := m.councilOnly("the views of other members"); err != nil {
		return nil, err
	}
	a, err := m.groupTable.Ask(ctx, func(id uint64) protocol.Event {
		return protocol.Find{Group: protocol.Group(group), ID: id, All: true}
	})
	if err != nil {
		return nil, err
	}
	c := m.council()
	said := map[string]protocol.Said{m.Name(): {Leader: a.Leader, Term: a.Term}}
	for _, s := range a.Said {
		said[c.name(s.By)] = s
	}
	var out []view.MemberView
	for _, p := range m.Members() {
		v := view.MemberView{Member: p.Name}
		if s, ok := said[p.Name]; ok {
			v.Answered = true
			if s.Leader != protocol.NoIdent {
				v.Leader, v.Token = c.name(s.Leader.Rank), s.Term
			}
		}
		out = append(out, v)
	}
	return out, nil
}
