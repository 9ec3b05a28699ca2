package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// many is a council that leads many groups.
func many(n int) *State {
	st := &State{About: About{Kind: "agent"}, Members: []Member{{Name: "a"}, {Name: "b"}}}
	for i := range n {
		g := Group{Name: fmt.Sprintf("group-%06d", i), Mode: Quorum, Changed: time.Duration(i * 7919 % n), Cause: "elected"}
		if i%1000 != 0 {
			g.Leaders = []Leader{{Member: string(rune('a' + i%2)), Token: uint64(i)}}
		}
		st.Groups = append(st.Groups, g)
	}
	st.Groups = append(st.Groups, Group{Name: "beside", Mode: Local})
	return st
}

// No page gets a hundred thousand groups: the stream counts them, and a page asks for those that it shows.
func TestAHundredThousandGroupsAreAskedForInParts(t *testing.T) {
	const n = 100_000
	s := NewStore(func() time.Duration { return 0 })
	s.Replace(many(10))
	few := s.Since(0)
	s.Replace(many(n))
	u := s.Since(few.Serial)
	b, err := json.Marshal(u)
	if err != nil || !u.Reset || len(u.Groups) > 0 || u.About == nil || u.About.Paged[Quorum] != n || len(b) > 2000 {
		t.Fatalf("a page that had few groups gets %.300s, %v", b, err)
	}
	url := serve(t, s, Options{})
	ask := func(query string) *GroupPage {
		t.Helper()
		answer, err := http.Get(url + "/api/groups?" + query)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		var p GroupPage
		if err := json.NewDecoder(answer.Body).Decode(&p); err != nil {
			t.Fatal(err)
		}
		return &p
	}
	named := func(p *GroupPage) string {
		var names []string
		for _, g := range p.Groups {
			names = append(names, strings.TrimPrefix(g.Name, "group-"))
		}
		return strings.Join(names, " ")
	}
	for _, c := range []struct{ query, want string }{
		{"mode=quorum&limit=3", "000000 000001 000002"},
		{"mode=quorum&limit=3&offset=99998", "099998 099999"},
		{"mode=quorum&limit=3&offset=1000000", ""},
		{"mode=quorum&limit=-1&offset=-1", ""},
		{"mode=quorum&limit=2&back=1", "099999 099998"},
		{"mode=quorum&limit=2&order=leader", "000000 001000"},
		{"mode=quorum&limit=2&order=leader&back=1", "099999 099997"},
		{"mode=quorum&limit=3&words=+42+no+LEADER", "042000"},
		{"mode=local&limit=3", "beside"},
		{"mode=none&limit=3", ""},
	} {
		if got := named(ask(c.query)); got != c.want {
			t.Errorf("%s: %q, want %q", c.query, got, c.want)
		}
	}
	if p := ask("mode=quorum&limit=2&order=changed"); p.Groups[0].Changed != n-1 || p.Groups[1].Changed != n-2 {
		t.Errorf("the latest are %+v", p.Groups)
	}
	p := ask("mode=quorum&limit=100000&words=group-01&shown=local:beside")
	if len(p.Groups) != maxPage || p.Counts[Quorum] != 10_000 || p.Counts[Local] != 0 || p.All != n || p.Shown == nil || p.Shown.Name != "beside" {
		t.Errorf("%d groups, counts %v, all %d, shown %v", len(p.Groups), p.Counts, p.All, p.Shown)
	}
	// When they are few again, pages get them all.
	at := s.Since(0).Serial
	s.Replace(many(10))
	if u := s.Since(at); !u.Reset || len(u.Groups) != 11 || u.About.Paged != nil {
		t.Errorf("few again: %+v", u)
	}
}

// Pages that look at different parts share the order, and what they asked for is kept for few of them.
func TestPagesShareAListing(t *testing.T) {
	s := NewStore(func() time.Duration { return 0 })
	s.Replace(many(10))
	now := time.Unix(1e9, 0)
	first := s.listing(&GroupQuery{Mode: Quorum, Offset: 3}, now)
	if s.listing(&GroupQuery{Mode: Quorum, Offset: 7}, now.Add(listingAge-1)) != first {
		t.Error("another part is put in order anew")
	}
	if s.listing(&GroupQuery{Mode: Quorum, Back: true}, now) == first || s.listing(&GroupQuery{Mode: Quorum, Words: []string{"x"}}, now) == first {
		t.Error("another query gets the same")
	}
	if s.listing(&GroupQuery{Mode: Quorum}, now.Add(listingAge)) == first || len(s.listings) != 1 {
		t.Errorf("old ones are kept: %d", len(s.listings))
	}
	for i := range 100 {
		s.listing(&GroupQuery{Words: []string{strings.Repeat("x", i)}}, now)
	}
	if len(s.listings) > listingsKept {
		t.Errorf("%d are kept", len(s.listings))
	}
}

// What a page of 100,000 groups costs the server: one part in each order.
func BenchmarkPartOfAHundredThousandGroups(b *testing.B) {
	s := NewStore(func() time.Duration { return 0 })
	s.Replace(many(100_000))
	for _, order := range []string{"name", "leader", "changed"} {
		b.Run(order, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.listings = nil // as for the first page that asks
				s.Page(&GroupQuery{Mode: Quorum, Order: order, Offset: 50_000, Limit: 100})
			}
		})
	}
}
