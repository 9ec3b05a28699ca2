package web

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// client is a page as far as the data go: it applies updates.
type client struct {
	serial   uint64
	about    About
	playback *Playback
	kinds    map[string]map[string]any
}

func (c *client) apply(u *Update) {
	if u.Reset || c.kinds == nil {
		c.kinds = map[string]map[string]any{"members": {}, "links": {}, "groups": {}, "tenures": {}, "log": {}}
	}
	if u.About != nil {
		c.about = *u.About
	}
	if u.Playback != nil {
		c.playback = u.Playback
	}
	for kind, keys := range u.Gone {
		for _, k := range keys {
			delete(c.kinds[kind], k)
		}
	}
	for _, m := range u.Members {
		c.kinds["members"][m.Name] = m
	}
	for _, l := range u.Links {
		c.kinds["links"][l.From+">"+l.To] = l
	}
	for _, g := range u.Groups {
		c.kinds["groups"][string(g.Mode)+":"+g.Name] = g
	}
	for _, t := range u.Tenures {
		c.kinds["tenures"][t.ID] = t
	}
	for _, e := range u.Log {
		c.kinds["log"][fmt.Sprint(e.ID)] = e
	}
	c.serial = u.Serial
}

// Whatever happens, and whenever a page asks, it ends up with what a page that comes now gets.
func TestAPageThatFollowsHasWhatANewOneGets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewStore(func() time.Duration { return 0 })
		pages := make([]client, 3)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			change(t, s)
			if i := rapid.IntRange(0, len(pages)).Draw(t, "page"); i < len(pages) {
				pages[i].apply(s.Since(pages[i].serial))
			}
		}
		var fresh client
		fresh.apply(s.Since(0))
		for i := range pages {
			pages[i].apply(s.Since(pages[i].serial))
			if got, want := fmt.Sprint(pages[i].kinds, pages[i].about), fmt.Sprint(fresh.kinds, fresh.about); got != want {
				t.Fatalf("page %d has\n%s\nand a new one\n%s", i, got, want)
			}
		}
	})
}

// change does something to a store.
func change(t *rapid.T, s *Store) {
	st := &State{About: About{Kind: "demo", Alarm: rapid.SampledFrom([]string{"", "x"}).Draw(t, "alarm")}}
	for i := range rapid.IntRange(0, 6).Draw(t, "things") {
		n := rapid.IntRange(0, 4).Draw(t, fmt.Sprint("value", i))
		name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, fmt.Sprint("name", i))
		st.Members = append(st.Members, Member{Name: name, Leading: n})
		st.Links = append(st.Links, Link{From: name, To: "z", Bound: time.Duration(n)})
		st.Groups = append(st.Groups, Group{Name: name, Mode: Quorum, Leaders: []Leader{{Member: "a", Term: uint64(n)}}})
		st.Tenures = append(st.Tenures, Tenure{ID: fmt.Sprint(n), To: time.Duration(len(name))})
		st.Log = append(st.Log, Entry{ID: uint64(n), Text: name})
	}
	switch rapid.IntRange(0, 3).Draw(t, "how") {
	case 0:
		s.Put(st)
	case 1:
		s.Trim(rapid.IntRange(0, 3).Draw(t, "tenures"), rapid.IntRange(0, 3).Draw(t, "log"))
	default:
		s.Replace(st)
	}
}

func TestOnlyWhatChangedIsSent(t *testing.T) {
	s := NewStore(func() time.Duration { return 7 })
	st := &State{About: About{Kind: "demo"}, Members: []Member{{Name: "a"}, {Name: "b"}}, Groups: []Group{{Name: "g", Mode: Quorum}}}
	s.Replace(st)
	first := s.Since(0)
	if !first.Reset || len(first.Members) != 2 || first.Now != 7 {
		t.Fatalf("the first update is %+v", first)
	}
	changed := s.Changed()
	s.Replace(st)
	select {
	case <-changed:
		t.Error("the same state counts as a change")
	default:
	}
	if u := s.Since(first.Serial); !u.empty() {
		t.Errorf("the same state is sent as %+v", u)
	}
	s.Replace(&State{About: st.About, Members: []Member{{Name: "a"}, {Name: "b", State: Down}}})
	<-changed
	u := s.Since(first.Serial)
	if u.Reset || u.About != nil || len(u.Members) != 1 || u.Members[0].Name != "b" || !slices.Equal(u.Gone["groups"], []string{"quorum:g"}) {
		t.Errorf("sent is %+v", u)
	}
}

// A page that was away for longer than a store remembers gets everything, rather than keep what is gone.
func TestAPageThatWasAwayForTooLongStartsOver(t *testing.T) {
	s := NewStore(func() time.Duration { return 0 })
	s.Put(&State{Log: []Entry{{ID: 1}}})
	away := s.Since(0).Serial
	for i := range uint64(maxGone + 2) {
		s.Put(&State{Log: []Entry{{ID: i + 2}}})
		s.Trim(0, 1)
	}
	if u := s.Since(away); !u.Reset || len(u.Log) != 1 {
		t.Errorf("it gets %d entries, reset %v", len(u.Log), u.Reset)
	}
	if n := len(s.log.gone); n > maxGone {
		t.Errorf("%d things that are gone are remembered", n)
	}
	if u := s.Since(s.serial + 5); !u.Reset {
		t.Error("a serial number from the future is believed")
	}
}

// A thousand groups that all renew their leases are one change, and cost little.
func BenchmarkReplaceThousandGroups(b *testing.B) {
	s := NewStore(func() time.Duration { return 0 })
	st := &State{}
	for i := range 1000 {
		st.Groups = append(st.Groups, Group{Name: fmt.Sprintf("g%03d", i), Mode: Quorum, Leaders: []Leader{{Member: "a"}}})
	}
	n := time.Duration(0)
	for b.Loop() {
		n++
		for i := range st.Groups {
			st.Groups[i].Leaders = []Leader{{Member: "a", Until: n}}
		}
		s.Replace(st)
		s.Since(s.serial - 1)
	}
}
