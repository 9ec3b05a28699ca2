package rain

import (
	"cmp"
	"encoding/binary"
	"errors"

	"github.com/regentproject/regent/internal/protocol"
)

// A Number orders views: by the token of the lease under which a view was decided, then by Vid, which grows with every decision.
// Without an authority all tokens are zero.
type Number struct {
	Token uint64 `json:"token"`
	Vid   uint64 `json:"vid"`
}

// Compare returns -1, 0 or 1.
func (n Number) Compare(o Number) int {
	if c := cmp.Compare(n.Token, o.Token); c != 0 {
		return c
	}
	return cmp.Compare(n.Vid, o.Vid)
}

// A View is one agreement on who is a member. The first has Vid 1; before it there is the empty one, of which nobody is.
type View struct {
	Number  Number       `json:"number"`
	Members protocol.Set `json:"members"`
	// Manager decided it.
	Manager protocol.Rank `json:"manager"`
	// Failed and Joined say how Members differs from those of the view before it. Unfinished are those that were lost earlier and
	// never reported recovered.
	Failed     protocol.Set    `json:"failed,omitzero"`
	Joined     protocol.Set    `json:"joined,omitzero"`
	Unfinished []protocol.Loss `json:"unfinished,omitempty"`
	// Epoch is the number of the configuration in which it was decided. Its ranks are those of the members that had these seats
	// then: a seat may have been given to another one since.
	Epoch uint64 `json:"epoch,omitempty"`
	// Parent is the number of the view on top of which it was decided, and Before that view's Epoch: the ranks in Failed are those of the
	// members that had these seats then.
	Parent Number `json:"parent"`
	Before uint64 `json:"before,omitempty"`
}

// after says whether v replaces w. Two views of one number exist only in parts of a network that must not be partitioned and
// was, without a gate: then that of the better-ranked manager wins when the parts meet.
func (v *View) after(w *View) bool {
	if c := v.Number.Compare(w.Number); c != 0 {
		return c > 0
	}
	return v.Members != w.Members && v.Manager < w.Manager
}

// owed returns who was lost by the view and before it, as long as nobody has reported them recovered. A member that has another one's seat
// is another loss.
func (v *View) owed() []protocol.Loss {
	return protocol.AddLoss(v.Unfinished, protocol.Loss{Number: v.Before, Members: v.Failed})
}

// Durable state: whether the member remembers all that it has ever installed, how many councils were given up before that of its views, and the
// last view of each group that it knows.
const memoryVersion = 3

var errMemory = errors.New("rain: the views in the record are damaged")

// appendMemory encodes what the machine must not forget.
func (m *Machine) appendMemory(b []byte) []byte {
	b = append(b, memoryVersion, flag(m.remembers))
	b = binary.AppendUvarint(b, uint64(m.halted.heirs))
	for _, g := range m.groups {
		if !g.known || g.view.Number == (Number{}) {
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(g.name)))
		b = append(b, g.name...)
		v := &g.view
		for _, n := range [...]uint64{v.Number.Token, v.Number.Vid, uint64(v.Manager), v.Parent.Token, v.Parent.Vid, v.Epoch, v.Before} {
			b = binary.AppendUvarint(b, n)
		}
		for _, s := range [...]*protocol.Set{&v.Members, &v.Failed, &v.Joined} {
			b = appendSet(b, s)
		}
		b = binary.AppendUvarint(b, uint64(len(v.Unfinished)))
		for i := range v.Unfinished {
			b = binary.AppendUvarint(b, v.Unfinished[i].Number)
			b = appendSet(b, &v.Unfinished[i].Members)
		}
	}
	return b
}

func appendSet(b []byte, s *protocol.Set) []byte {
	set, _ := s.MarshalBinary()
	b = binary.AppendUvarint(b, uint64(len(set)))
	return append(b, set...)
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// recall decodes what appendMemory wrote.
func (m *Machine) recall(b []byte) error {
	if len(b) < 2 || b[0] != memoryVersion || b[1] > 1 {
		return errMemory
	}
	m.remembers = b[1] == 1
	r := reader{b: b[2:]}
	m.halted.heirs = int(min(r.number(), maxHeirs))
	for len(r.b) > 0 {
		name := protocol.Group(r.bytes())
		var v View
		v.Number.Token, v.Number.Vid = r.number(), r.number()
		manager := r.number()
		v.Manager = protocol.Rank(manager)
		v.Parent.Token, v.Parent.Vid, v.Epoch, v.Before = r.number(), r.number(), r.number(), r.number()
		for _, s := range [...]*protocol.Set{&v.Members, &v.Failed, &v.Joined} {
			r.set(s)
		}
		for n := r.number(); n > 0 && !r.bad; n-- {
			l := protocol.Loss{Number: r.number()}
			r.set(&l.Members)
			v.Unfinished = append(v.Unfinished, l)
		}
		if r.bad || manager >= protocol.MaxMembers {
			return errMemory
		}
		g := m.group(name)
		g.view, g.known = v, true
	}
	return nil
}

// A reader takes numbers and strings off the front of its bytes.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) set(s *protocol.Set) {
	if s.UnmarshalBinary(r.bytes()) != nil {
		r.b, r.bad = nil, true
	}
}

func (r *reader) bytes() []byte {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.b, r.bad = nil, true
		return nil
	}
	s := r.b[:n]
	r.b = r.b[n:]
	return s
}
