package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
)

// A traceLine is a line of a trace as JSON has it; docs/trace.md explains the fields.
type traceLine struct {
	T       Real               `json:"t"`
	Node    string             `json:"node"`
	Inc     protocol.Inc       `json:"inc"`
	Group   protocol.Group     `json:"group"`
	Dom     string             `json:"dom"`
	Ev      protocol.Ev        `json:"ev"`
	Peer    string             `json:"peer"`
	PeerInc protocol.Inc       `json:"peerinc"`
	Seq     int64              `json:"seq"`
	Gen     int64              `json:"gen"`
	Term    int64              `json:"term"`
	Tenure  int64              `json:"tenure"`
	Length  time.Duration      `json:"length"`
	Start   protocol.Time      `json:"start"`
	Until   protocol.Time      `json:"until"`
	At      protocol.Time      `json:"at"`
	Members []string           `json:"members"`
	Why     string             `json:"why"`
	Horizon protocol.HorizonID `json:"horizon"`
	Stop    bool               `json:"stop"`
	Version int64              `json:"version"`
	Value   string             `json:"value"`
	Agreed  *protocol.Agreed   `json:"agreed"`
	Detail  json.RawMessage    `json:"detail"`
}

// ParseRecord reads a line that AppendJSON wrote.
//
// A field that the line leaves out is zero, so an instant that was Never is zero; a missing peer is NoIdent. The detail of a view, a
// delivery, a lease and an edict has its type; that of any other record is a json.RawMessage. A view has what the line says and
// no cause.
func ParseRecord(line []byte) (Record, error) {
	var l traceLine
	if err := json.Unmarshal(line, &l); err != nil {
		return Record{}, err
	}
	r := Record{T: l.T, Node: protocol.Nobody, Inc: l.Inc}
	r.Ev, r.Group, r.Why, r.Peer = l.Ev, l.Group, l.Why, protocol.Ident{Rank: protocol.Nobody, Inc: l.PeerInc}
	r.Seq, r.Gen, r.Term, r.Tenure, r.Length = uint64(l.Seq), uint64(l.Gen), uint64(l.Term), uint64(l.Tenure), l.Length
	r.Start, r.Until, r.At = l.Start, l.Until, l.At
	for _, f := range []struct {
		name string
		rank *protocol.Rank
	}{{l.Node, &r.Node}, {l.Peer, &r.Peer.Rank}} {
		if f.name == "" || f.name == protocol.Nobody.String() {
			continue
		}
		rank, ok := RankNamed(f.name)
		if !ok {
			return Record{}, fmt.Errorf("%q is not the name of a member", f.name)
		}
		*f.rank = rank
	}
	for _, name := range l.Members {
		rank, ok := RankNamed(name)
		if !ok {
			return Record{}, fmt.Errorf("%q is not the name of a member", name)
		}
		r.Members.Add(rank)
	}
	if l.Dom != "" {
		d := slices.IndexFunc(domains, func(d protocol.Domain) bool { return d.String() == l.Dom })
		if d < 0 {
			return Record{}, fmt.Errorf("%q is not a domain", l.Dom)
		}
		r.Dom = domains[d]
	}
	return r, l.detail(&r)
}

var domains = []protocol.Domain{protocol.Elector, protocol.Quorum, protocol.Local, protocol.Consistent}

// detail gives the record its detail.
func (l *traceLine) detail(r *Record) error {
	switch {
	case r.Ev == EvView:
		v := &protocol.View{Group: r.Group, Domain: r.Dom, Leader: r.Peer, Term: r.Term, Tenure: r.Tenure, Horizon: l.Horizon, Until: r.Until,
			Support: r.Members, Stop: l.Stop, Agreed: l.Agreed}
		if l.Version != 0 {
			v.Value = &protocol.Value{Token: r.Term, Version: uint64(l.Version), Text: l.Value}
		}
		r.Detail = v
		return nil
	case l.Detail == nil:
		return nil
	case r.Ev == EvDeliver:
		return parseDetail[Delivery](l.Detail, r)
	case r.Ev == protocol.EvLease:
		return parseDetail[stamp.Quorum](l.Detail, r)
	case r.Ev == protocol.EvEdict:
		return parseDetail[stamp.Edict](l.Detail, r)
	}
	r.Detail = l.Detail
	return nil
}

func parseDetail[T any](b []byte, r *Record) error {
	var d T
	if err := json.Unmarshal(b, &d); err != nil {
		return fmt.Errorf("the detail of %s: %w", r.Ev, err)
	}
	r.Detail = d
	return nil
}

// letters is how many members are named by a letter.
const letters = 26

// RankNamed returns the member of the given name: a to z, then m26 and so on.
func RankNamed(name string) (protocol.Rank, bool) {
	if len(name) == 1 && name[0] >= 'a' && name[0] <= 'z' {
		return protocol.Rank(name[0] - 'a'), true
	}
	digits, ok := strings.CutPrefix(name, "m")
	if !ok || strings.HasPrefix(digits, "0") {
		return protocol.Nobody, false
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	return protocol.Rank(n), err == nil && n >= letters && n < protocol.MaxMembers
}
