package replay

import (
	"encoding/json"
	"strings"
	"time"
)

// A record is a line of a trace; docs/trace.md explains the fields.
type record struct {
	T       time.Duration   `json:"t"`
	Node    string          `json:"node"`
	Inc     uint32          `json:"inc"`
	Group   string          `json:"group"`
	Dom     string          `json:"dom"`
	Ev      string          `json:"ev"`
	Peer    string          `json:"peer"`
	Seq     uint64          `json:"seq"`
	Term    uint64          `json:"term"`
	Tenure  uint64          `json:"tenure"`
	Until   int64           `json:"until"`
	At      int64           `json:"at"`
	Members []string        `json:"members"`
	Why     string          `json:"why"`
	Stop    bool            `json:"stop"`
	Detail  json.RawMessage `json:"detail"`
}

// nobody is how a trace says that there is no peer.
const nobody = "nobody"

// peer returns the other member; empty if it is nobody.
func (r *record) peer() string {
	if r.Peer == nobody {
		return ""
	}
	return r.Peer
}

// text returns a detail that is in words.
func (r *record) text() string {
	var s string
	if json.Unmarshal(r.Detail, &s) != nil {
		return ""
	}
	return s
}

// bound returns the proven bound of a delivery; false if nothing is proven.
func (r *record) bound() (time.Duration, bool) {
	var d struct {
		Bound *time.Duration `json:"bound"`
	}
	if json.Unmarshal(r.Detail, &d) != nil || d.Bound == nil || *d.Bound < 0 {
		return 0, false
	}
	return *d.Bound, true
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
		return has(f.side, from) != has(f.side, to)
	}
	return (f.from == "*" || f.from == from) && (f.to == "*" || f.to == to)
}

func has(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}
