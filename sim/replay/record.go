package replay

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// peer returns the name of the other member; empty if there is none.
func peer(r *sim.Record) string { return name(r.Peer.Rank) }

// name returns the name of a member; empty if it is nobody.
func name(r protocol.Rank) string {
	if r == protocol.Nobody {
		return ""
	}
	return r.String()
}

// names returns the names of members, by rank.
func names(s protocol.Set) []string {
	var all []string
	for r := range s.All() {
		all = append(all, r.String())
	}
	return all
}

// words returns a detail that is in words.
func words(r *sim.Record) string {
	detail, _ := r.Detail.(json.RawMessage)
	var s string
	if json.Unmarshal(detail, &s) != nil {
		return ""
	}
	return s
}

// bound returns what a delivery proves of its link.
func bound(r *sim.Record) proven {
	d, ok := r.Detail.(sim.Delivery)
	if !ok || d.Bound < 0 {
		return proven{any: true}
	}
	return proven{bound: time.Duration(d.Bound), known: true, any: true}
}

// A fault is one thing that is wrong, as its line says in words: "cut a b for 1s", "slow * c by 60ms", "partition {a b}",
// "pause a".
type fault struct {
	kind string
	text string
	// from and to are the ends of a link, * for every member; from is the member of all other faults.
	from, to string
	side     []string
}

func parseFault(kind, text string) fault {
	f := fault{kind: kind, text: text}
	rest := strings.TrimSpace(strings.TrimPrefix(text, kind))
	if side, _, ok := strings.Cut(strings.TrimPrefix(rest, "{"), "}"); ok && kind == "partition" {
		f.side = strings.Fields(side)
		return f
	}
	words := strings.Fields(rest)
	if len(words) > 0 {
		f.from = words[0]
	}
	if len(words) > 1 {
		f.to = words[1]
	}
	return f
}

// covers says whether the fault is about the link.
func (f *fault) covers(from, to string) bool {
	if f.kind == "partition" {
		return slices.Contains(f.side, from) != slices.Contains(f.side, to)
	}
	return (f.from == "*" || f.from == from) && (f.to == "*" || f.to == to)
}
