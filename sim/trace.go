package sim

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"

	"github.com/regentproject/regent/internal/protocol"
)

// A Trace writes records as lines of JSON. A field that is zero is left out, except where the kind of the record is
// about it.
type Trace struct {
	out  *bufio.Writer
	line []byte
}

// NewTrace returns an observer that writes to out. Flush it at the end.
func NewTrace(out io.Writer) *Trace { return &Trace{out: bufio.NewWriter(out)} }

// Observe writes one line.
func (t *Trace) Observe(r *Record) error {
	b, err := r.AppendJSON(t.line[:0])
	if err != nil {
		return err
	}
	t.line = append(b, '\n')
	_, err = t.out.Write(t.line)
	return err
}

// Flush writes what is buffered.
func (t *Trace) Flush() error { return t.out.Flush() }

// Facts of the world have no domain, and some of them no peer; all other records are about both.
var (
	undomained = evSet(EvStart, EvRestart, EvRefuse, EvCrash, EvClose, EvPersist, EvCommand, EvFault, EvHeal, EvPhase, EvSend,
		EvDeliver, EvDrop, EvAnswer)
	peered = evSet(protocol.EvWeak, protocol.EvSuspect, protocol.EvTrust, protocol.EvPromise, protocol.EvBreak, protocol.EvAssign,
		protocol.EvUnassign, protocol.EvGrant, protocol.EvUngrant, protocol.EvVerify, protocol.EvCount, EvView, EvSend, EvDeliver,
		EvDrop, EvAnswer, protocol.EvPeer, protocol.EvCand, protocol.EvAccept, protocol.EvCancel, protocol.EvConv, protocol.EvInstall,
		protocol.EvStall, protocol.EvLink, protocol.EvPost, protocol.EvTake)
	// paired have a peer or name nobody as it.
	paired = evSet(EvCommand, EvFault, EvHeal)
)

func evSet(evs ...protocol.Ev) map[protocol.Ev]bool {
	s := make(map[protocol.Ev]bool)
	for _, ev := range evs {
		s[ev] = true
	}
	return s
}

// AppendJSON appends the record as a JSON object: t, node, inc, group, dom, ev, and then what the fact holds.
func (r *Record) AppendJSON(b []byte) ([]byte, error) {
	b = append(b, `{"t":`...)
	b = strconv.AppendInt(b, int64(r.T), 10)
	if r.Node != protocol.Nobody {
		b = appendText(b, "node", r.Node.String())
		b = append(b, `,"inc":`...)
		b = strconv.AppendUint(b, uint64(r.Inc), 10)
	}
	if r.Group != "" {
		b = appendText(b, "group", string(r.Group))
	}
	if !undomained[r.Ev] {
		b = appendText(b, "dom", r.Dom.String())
	}
	b = appendText(b, "ev", string(r.Ev))
	if r.hasPeer() {
		b = appendText(b, "peer", r.Peer.Rank.String())
		b = appendNumber(b, "peerinc", int64(r.Peer.Inc))
	}
	b = appendNumber(b, "seq", int64(r.Seq))
	b = appendNumber(b, "gen", int64(r.Gen))
	b = appendNumber(b, "term", int64(r.Term))
	b = appendNumber(b, "tenure", int64(r.Tenure))
	b = appendNumber(b, "length", int64(r.Length))
	b = appendTime(b, "start", r.Start)
	b = appendTime(b, "until", r.Until)
	b = appendTime(b, "at", r.At)
	if !r.Members.Empty() {
		b = append(b, `,"members":[`...)
		for m := range r.Members.All() {
			if b[len(b)-1] != '[' {
				b = append(b, ',')
			}
			b = strconv.AppendQuote(b, m.String())
		}
		b = append(b, ']')
	}
	if r.Why != "" {
		b = appendText(b, "why", r.Why)
	}
	return r.appendDetail(b)
}

// hasPeer says whether the record is about another member. The zero value of a peer is the first member without an
// incarnation; where it may also mean that nothing was filled in it is left out.
func (r *Record) hasPeer() bool {
	switch {
	case peered[r.Ev]:
		return true
	case paired[r.Ev]:
		return r.Peer.Rank != protocol.Nobody
	}
	return r.Peer != (protocol.Ident{}) && r.Peer != protocol.NoIdent
}

// appendDetail appends what else the record carries, and closes the object.
func (r *Record) appendDetail(b []byte) ([]byte, error) {
	if v, ok := r.Detail.(*protocol.View); ok {
		b = appendNumber(b, "horizon", int64(v.Horizon))
		if v.Stop {
			b = append(b, `,"stop":true`...)
		}
		if v.Value != nil {
			b = appendNumber(b, "version", int64(v.Value.Version))
			b = appendText(b, "value", v.Value.Text)
		}
		if v.Agreed == nil {
			return append(b, '}'), nil
		}
		agreed, err := json.Marshal(v.Agreed)
		return append(append(append(b, `,"agreed":`...), agreed...), '}'), err
	}
	if r.Detail != nil {
		detail, err := json.Marshal(r.Detail)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"detail":`...), detail...)
	}
	return append(b, '}'), nil
}

func appendText(b []byte, name, value string) []byte {
	b = append(append(append(b, `,"`...), name...), `":`...)
	quoted, err := json.Marshal(value)
	if err != nil {
		panic("sim: a string does not marshal: " + err.Error())
	}
	return append(b, quoted...)
}

func appendNumber(b []byte, name string, value int64) []byte {
	if value == 0 {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	return strconv.AppendInt(b, value, 10)
}

// appendTime appends an instant of the member's clock; Never is left out.
func appendTime(b []byte, name string, t protocol.Time) []byte {
	if t == protocol.Never {
		return b
	}
	return appendNumber(b, name, int64(t))
}
