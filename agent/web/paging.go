package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// maxGroups is how many groups a page gets. If there are more, it asks for those that it shows.
	maxGroups = 2000
	// maxPage is how many groups it may ask for at once.
	maxPage = 200
)

// A GroupQuery asks for a part of the groups.
type GroupQuery struct {
	Mode Mode
	// Words must all occur in what the table shows of a group.
	Words []string
	// Order is name, leader or changed; Back reverses it.
	Order string
	Back  bool
	// Offset and Limit are which part, and Shown is the key of a group that is wanted besides.
	Offset, Limit int
	Shown         string
}

// A GroupPage is that part.
type GroupPage struct {
	// Counts are how many groups of each mode have all words, and All how many groups of the mode there are.
	Counts map[Mode]int `json:"counts"`
	All    int          `json:"all"`
	Offset int          `json:"offset"`
	Groups []Group      `json:"groups"`
	Shown  *Group       `json:"shown,omitempty"`
}

// finds returns whether a group has all words.
func (q *GroupQuery) finds(g *Group) bool {
	if len(q.Words) == 0 {
		return true
	}
	var b strings.Builder
	b.WriteString(g.Name + " " + string(g.Mode) + " " + g.Cause)
	for i := range g.Leaders {
		b.WriteString(" " + g.Leaders[i].Member + " " + g.Leaders[i].Value)
	}
	if len(g.Leaders) == 0 {
		b.WriteString(" no leader")
	}
	text := strings.ToLower(b.String())
	return !slices.ContainsFunc(q.Words, func(w string) bool { return !strings.Contains(text, w) })
}

// compare orders groups as asked for, and those that are equal by name.
func (q *GroupQuery) compare(a, b *Group) int {
	c := 0
	switch q.Order {
	case "leader":
		c = strings.Compare(a.leader(), b.leader())
	case "changed": // the latest first
		c = cmp.Compare(b.Changed, a.Changed)
	}
	c = cmp.Or(c, strings.Compare(a.Name, b.Name))
	if q.Back {
		return -c
	}
	return c
}

func (g *Group) leader() string {
	if len(g.Leaders) == 0 {
		return ""
	}
	return g.Leaders[0].Member
}

// Page returns a part of the groups.
func (s *Store) Page(q *GroupQuery) *GroupPage {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.listing(q, time.Now())
	p := &GroupPage{Counts: l.counts, All: l.all, Groups: []Group{}}
	p.Offset = min(max(0, q.Offset), len(l.found))
	for _, g := range l.found[p.Offset:min(len(l.found), p.Offset+min(max(0, q.Limit), maxPage))] {
		p.Groups = append(p.Groups, *g)
	}
	if r := s.groups.find[q.Shown]; r != nil {
		shown := r.value
		p.Shown = &shown
	}
	return p
}

// A listing is all groups that a query finds, in its order. Pages that look at different parts of it share it for a moment, because to
// put a hundred thousand groups in order costs a fifth of a second.
type listing struct {
	key    string
	at     time.Time
	found  []*Group
	counts map[Mode]int
	all    int
}

const (
	listingAge   = time.Second
	listingsKept = 8
)

// listing returns the one of a query. The caller holds the lock.
func (s *Store) listing(q *GroupQuery, now time.Time) *listing {
	key := fmt.Sprintf("%q %q %q %v", q.Mode, q.Words, q.Order, q.Back)
	s.listings = slices.DeleteFunc(s.listings, func(l *listing) bool { return now.Sub(l.at) >= listingAge })
	if i := slices.IndexFunc(s.listings, func(l *listing) bool { return l.key == key }); i >= 0 {
		return s.listings[i]
	}
	l := &listing{key: key, at: now, counts: make(map[Mode]int)}
	for _, r := range s.groups.rows {
		g := &r.value
		if g.Mode == q.Mode {
			l.all++
		}
		if q.finds(g) {
			l.counts[g.Mode]++
			if g.Mode == q.Mode {
				l.found = append(l.found, g)
			}
		}
	}
	if !slices.IsSortedFunc(l.found, q.compare) {
		slices.SortFunc(l.found, q.compare)
	}
	s.listings = append(s.listings[max(0, len(s.listings)-listingsKept+1):], l)
	return l
}

// countGroups takes note of how many groups there are, if they are too many to be sent to all pages.
func (s *Store) countGroups(serial uint64) (changed bool) {
	var counts map[Mode]int
	if len(s.groups.rows) > maxGroups {
		counts = make(map[Mode]int)
		for _, r := range s.groups.rows {
			counts[r.value.Mode]++
		}
	}
	if maps.Equal(counts, s.paged) {
		return false
	}
	if (counts == nil) != (s.paged == nil) {
		s.floor = serial // all pages begin anew: what they have of groups is not kept up to date, or is not there
	}
	s.paged, s.aboutAt = counts, serial
	return true
}

// groupPage answers a page that asks for a part of the groups.
func (h *handler) groupPage(w http.ResponseWriter, r *http.Request) {
	s, ok := h.source.(interface{ Page(*GroupQuery) *GroupPage })
	if !ok {
		http.NotFound(w, r)
		return
	}
	v := r.URL.Query()
	number := func(name string) int {
		n, _ := strconv.Atoi(v.Get(name)) // what is none is zero
		return n
	}
	q := &GroupQuery{Mode: Mode(v.Get("mode")), Words: strings.Fields(strings.ToLower(v.Get("words"))), Order: v.Get("order"), Back: v.Get("back") == "1",
		Offset: number("offset"), Limit: number("limit"), Shown: v.Get("shown")}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.Page(q))
}
