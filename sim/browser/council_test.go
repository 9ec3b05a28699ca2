package browser_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/roster"
)

// changing is a council of which c is replaced by d, which learns.
func changing() *web.State {
	st := &web.State{About: web.About{Kind: "agent", Title: "agent of a", Self: "a", Council: &web.Council{Number: 7, Settled: true, By: "b", Waits: []string{"d"},
		Change: "number 7 to 8: adding d, removing c; learning: d knows 40 of 212 groups; waits for d"}}}
	for _, m := range []web.Member{{Name: "a", Accepted: true, Adopted: true, Settled: true}, {Name: "b", Adopted: true, Settled: true}, {Name: "c", Adopted: true, Leaving: true},
		{Name: "d", Role: "observer", Learning: true, Knows: 40, Learns: 212}, {Name: "w", Role: "witness", Adopted: true, Settled: true}} {
		m.State = web.Up
		st.Members = append(st.Members, m)
		for _, to := range "abcdw" {
			if string(to) != m.Name {
				st.Links = append(st.Links, web.Link{From: m.Name, To: string(to), State: web.Fast})
			}
		}
	}
	st.Groups = []web.Group{{Name: "billing", Mode: web.Quorum, Cause: "elected a", Leaders: []web.Leader{{Member: "a", Token: 4, Until: time.Hour, Lease: time.Hour, Support: []string{"a", "b", "w"}}}}}
	st.Log = []web.Entry{{ID: 1, Text: "council: member c added, number 7, took 210ms, asked for at a"}}
	return st
}

// A change of the council shows in a ribbon with a mark for each member and phase. A member that learns is hollow, one that leaves is struck through.
func TestChangeOfTheCouncilInTheBrowser(t *testing.T) {
	store := web.NewStore(func() time.Duration { return time.Minute })
	store.Replace(changing())
	server, err := web.Serve("127.0.0.1:0", web.Handler(store, web.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	p := open(t, server.URL)
	p.until(`document.getElementById('ribbon-text').textContent === 'number 7 to 8: adding d, removing c; learning: d knows 40 of 212 groups; waits for d (asked for at b)'`)
	chips := ask[[]string](p, `[...document.querySelectorAll('#ribbon-marks li')].map(l => l.getAttribute('aria-label'))`)
	if got, want := strings.Join(chips, "; "), "a, accepted, adopted, settled; b, adopted, settled; c, adopted, leaving; d, learning 40 of 212, waited for; w, adopted, settled"; got != want {
		t.Errorf("the marks are %s\nwant          %s", got, want)
	}
	if n := ask[int](p, `document.querySelectorAll('#ribbon-marks .mark.on').length`); n != 8 {
		t.Errorf("%d marks are set", n)
	}
	if got := ask[string](p, fmt.Sprintf(`getComputedStyle(document.querySelector('%s .body')).fill`, member("d"))); got != "none" {
		t.Errorf("the body of a member that learns is %s", got)
	}
	if got := ask[string](p, fmt.Sprintf(`getComputedStyle(document.querySelector('%s .body')).fill`, member("b"))); got == "none" {
		t.Error("the body of a voter is hollow")
	}
	if got := ask[string](p, fmt.Sprintf(`getComputedStyle(document.querySelector('%s .name')).textDecorationLine`, member("c"))); got != "line-through" {
		t.Errorf("the name of a member that leaves is drawn %q", got)
	}
	for _, dark := range []bool{false, true} {
		p.do(size(400, 900, dark))
		p.until(`innerWidth === 400 && document.documentElement.scrollWidth <= 400`)
	}
	p.do(size(1280, 900, false))
	p.pictured("council.png", 1280, false)
	p.pictured("council-dark.png", 400, true)

	// When it is over, the ribbon has the number, and no marks.
	st := changing()
	st.About.Council = &web.Council{Number: 9, Settled: true, FileDiffers: "the file lists a b c, and the council is a b d w (number 9)"}
	for i := range st.Members {
		st.Members[i].Accepted, st.Members[i].Adopted, st.Members[i].Settled, st.Members[i].Learning = false, false, false, false
	}
	st.Members[2].State, st.Members[2].Leaving = web.Removed, false
	store.Replace(st)
	p.until(`document.getElementById('ribbon-text').textContent === 'number 9, settled' && document.querySelectorAll('#ribbon-marks li').length === 0`)
	p.until(`document.getElementById('ribbon-note').textContent.startsWith('the file lists a b c')`)
	p.until(fmt.Sprintf(`document.querySelector('%s').dataset.place === 'removed'`, member("c")))
	store.Replace(&web.State{About: web.About{Kind: "agent"}})
	p.until(`document.getElementById('ribbon').hidden`)
}

// After a council was given up, a red line reports this and what cannot be promised, by day and by night, until a person has acknowledged it.
func TestCouncilThatWasGivenUpInTheBrowser(t *testing.T) {
	lost := roster.Council{Number: 8, Settled: true, GivenUp: &roster.GivenUp{ID: "7f3a", By: "a", Lost: []string{"b", "c"}, At: time.Date(2026, 11, 19, 12, 30, 0, 0, time.UTC)}}
	store := web.NewStore(func() time.Duration { return time.Minute })
	show := func() {
		st := changing()
		st.About.Council = web.CouncilOf(&lost, 0)
		store.Replace(st)
	}
	show()
	server, err := web.Serve("127.0.0.1:0", web.Handler(store, web.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	p := open(t, server.URL)
	for _, dark := range []bool{false, true} {
		p.do(size(1280, 800, dark))
		p.until(`document.getElementById('ribbon-given-up').checkVisibility()`)
		text := ask[string](p, `document.getElementById('ribbon-given-up').textContent`)
		for _, want := range []string{"council 7f3a was given up on 2026-11-19 12:30 UTC at a, without b, c", "these may lead beside this council", "regent recover --acknowledge"} {
			if !strings.Contains(text, want) {
				t.Errorf("dark %v: it does not say %q: %s", dark, want, text)
			}
		}
		p.until(`(([r, g, b]) => r > g + 60 && r > b + 60)(getComputedStyle(document.getElementById('ribbon-given-up')).color.match(/[0-9.]+/g).map(Number))`)
		p.accessible(fmt.Sprintf("a council that was given up, dark %v", dark))
	}
	lost.GivenUp.Acknowledged = true
	show()
	p.until(`!document.getElementById('ribbon-given-up').checkVisibility()`)
}
