package browser_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/sim/replay"
)

// play serves a page that plays the stored trace.
func play(t *testing.T) (*replay.Recording, string) {
	t.Helper()
	f, err := os.Open("../replay/testdata/split.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	recording, err := replay.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	player := replay.NewPlayer("split.jsonl", recording)
	server, err := web.Serve("127.0.0.1:0", web.Handler(player, web.Options{Do: player.Do, Load: player.Load}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { player.Run(ctx); close(over) }()
	t.Cleanup(func() { cancel(); <-over; server.Close() })
	return recording, server.URL
}

// drawn is all that the picture and the timeline show, once members stand still.
const drawn = `JSON.stringify([[...document.querySelectorAll('.node')].map(n => [n.dataset.member, n.dataset.state, n.dataset.leads, n.querySelector('.how').textContent]),
	[...document.querySelectorAll('.field')].map(f => [f.dataset.area, f.dataset.local]).sort(), [...document.querySelectorAll('.line')].map(l => l.dataset.state),
	[...document.querySelectorAll('.bar')].map(b => b.getAttribute('aria-label')), [...document.querySelectorAll('#entries li')].map(l => l.textContent)])`

func at(step int) string {
	return fmt.Sprintf(`document.getElementById('playback').dataset.step === '%d' && document.getElementById('playback').dataset.playing === ''`, step)
}

func TestRecordedRunInTheBrowser(t *testing.T) {
	recording, url := play(t)
	p := open(t, url)
	p.until(at(0))
	seek := func(step int) string {
		t.Helper()
		p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{ const s = document.querySelector('#playback input[type=range]'); s.value = %d; s.dispatchEvent(new Event('input')); s.dispatchEvent(new Event('change')) }`, step)))
		p.until(at(step))
		// The timeline is drawn a moment later.
		p.until(`new Promise(done => setTimeout(() => done(true), 250))`)
		return ask[string](p, drawn)
	}

	// To the end: the expected state.
	p.click(`#playback button[data-verb="last"]`)
	p.until(at(recording.Steps()))
	p.until(areas + `.join() === 'a b d' && document.querySelector('.node[data-member="c"]').dataset.state === 'down'`)
	if got := ask[[]string](p, `[...document.querySelectorAll('.node[data-leads="local"]')].map(n => n.dataset.member)`); len(got) != 1 || got[0] != "a" {
		t.Errorf("at the end %v lead", got)
	}

	// In the middle, step by step, both ways.
	middle := recording.StepAt(990 * time.Millisecond)
	there := seek(middle)
	if got := ask[[]string](p, areas); len(got) != 2 || got[0] != "a b" || got[1] != "d" {
		t.Errorf("in the middle the areas are %q", got)
	}
	p.pictured("replay.png", 1280, false)
	p.do(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	for i := range 3 {
		p.press(kb.ArrowRight)
		p.until(at(middle + i + 1))
	}
	for i := range 3 {
		p.click(`#playback button[data-verb="stepback"]`)
		p.until(at(middle + 2 - i))
	}
	seek(recording.Steps())
	if back := seek(middle); back != there {
		t.Errorf("forwards\n%s\nand backwards\n%s", there, back)
	}

	// By itself, backwards to the beginning.
	p.do(chromedp.Evaluate[chromedp.Void](`{ const s = document.querySelector('#playback select'); s.value = '2'; s.dispatchEvent(new Event('change')) }`))
	p.click(`#playback button[data-verb="back"]`)
	p.until(at(0))
	p.until(areas + `.length === 0`)

	// A file that is none, and another trace.
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	if err := os.WriteFile(bad, []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.forgiven = true // the browser notes the refusal in its console
	p.do(chromedp.SetUploadFiles(chromedp.CSS(`#playback input[type="file"]`), []string{bad}))
	p.until(`document.getElementById('toast').textContent.includes('bad.jsonl: line 1')`)
	good := filepath.Join(t.TempDir(), "good.jsonl")
	if err := os.WriteFile(good, []byte(`{"t":9,"ev":"start","node":"q"}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.SetUploadFiles(chromedp.CSS(`#playback input[type="file"]`), []string{good}))
	p.until(`document.getElementById('title').textContent === 'replay of good.jsonl' && document.querySelectorAll('.node').length === 1`)
}

func TestLostConnectionShowsAndHeals(t *testing.T) {
	store := web.NewStore(func() time.Duration { return 0 })
	store.Replace(&web.State{About: web.About{Kind: "agent", Title: "before"}, Members: []web.Member{{Name: "a", State: web.Up}}})
	listen := func(addr string) (*http.Server, string) {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: web.Handler(store, web.Options{})}
		go func() { _ = s.Serve(l) }()
		return s, l.Addr().String()
	}
	first, addr := listen("127.0.0.1:0")
	p := open(t, "http://"+addr+"/")
	p.forgiven = true // the browser notes refused connections in its console
	p.until(`document.body.dataset.connection === 'live' && document.getElementById('title').textContent === 'before'`)
	first.Close()
	p.until(`document.body.dataset.connection === 'lost' && document.getElementById('connection').textContent.includes('lost')`)
	store.Replace(&web.State{About: web.About{Kind: "agent", Title: "after"}, Members: []web.Member{{Name: "b", State: web.Up}}})
	second, _ := listen(addr)
	defer second.Close()
	p.until(`document.body.dataset.connection === 'live' && document.getElementById('title').textContent === 'after'`)
	p.until(`[...document.querySelectorAll('.node')].map(n => n.dataset.member).join() === 'b'`)
}

// manyGroups is a council that leads a thousand groups.
func manyGroups(n int, at time.Duration) *web.State {
	st := &web.State{About: web.About{Kind: "agent", Title: "many groups"}}
	for i := range 3 {
		st.Members = append(st.Members, web.Member{Name: string(rune('a' + i)), State: web.Up})
	}
	for i := range n {
		st.Groups = append(st.Groups, web.Group{Name: fmt.Sprintf("group-%04d", i), Mode: web.Quorum, Changed: time.Duration(i), Cause: "elected a",
			Leaders: []web.Leader{{Member: string(rune('a' + i%3)), Token: uint64(i), Until: at + time.Second, Lease: time.Second}}})
	}
	return st
}

// A thousand groups, all of which change with every update, are a handful of rows; the page goes on drawing.
func TestAThousandGroupsStaySmooth(t *testing.T) {
	begin := time.Now()
	now := func() time.Duration { return time.Since(begin) }
	store := web.NewStore(now)
	store.Replace(manyGroups(1000, 0))
	server, err := web.Serve("127.0.0.1:0", web.Handler(store, web.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	p := open(t, server.URL)
	p.until(`document.getElementById('groups-count').textContent === '1000'`)
	ask[bool](p, `(window.frames_ = 0, (function count() { window.frames_++; requestAnimationFrame(count); })(), true)`)
	// The page must draw between updates, however slow the host is: an update must not begin before the last one is drawn.
	const enough, patience = 10, 30 * time.Second
	frames, updates := 0, 0
	for begin := now(); frames < enough && now()-begin < patience; updates++ {
		store.Replace(manyGroups(1000, now()))
		// wall clock: a real browser draws meanwhile
		time.Sleep(50 * time.Millisecond)
		frames = ask[int](p, `window.frames_`)
	}
	if frames < enough {
		t.Errorf("%d updates of 1,000 groups, and only %d frames were drawn", updates, frames)
	}
	if rows := ask[int](p, `document.querySelectorAll('.rows .row').length`); rows > 40 {
		t.Errorf("the table has %d rows for what fits on the screen", rows)
	}
	// What is far down is there when somebody goes there.
	ask[bool](p, `(document.querySelector('.rows').scrollTop = 1e9, true)`)
	p.until(`[...document.querySelectorAll('.rows .row:not([hidden]) .name')].some(n => n.textContent === 'group-0999')`)
	p.do(chromedp.SendKeys(chromedp.CSS(`#search`), "0123"))
	p.until(`document.getElementById('groups-count').textContent === '1 of 1000'`)
}

// Of a hundred thousand groups the page has those that it shows, and the one that its address names.
func TestAHundredThousandGroupsInTheBrowser(t *testing.T) {
	store := web.NewStore(func() time.Duration { return time.Minute })
	store.Replace(manyGroups(100_000, time.Minute))
	server, err := web.Serve("127.0.0.1:0", web.Handler(store, web.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	p := open(t, server.URL+"#/quorum/group-77777")
	p.until(`document.getElementById('groups-count').textContent === '100000' && document.getElementById('headline').textContent === 'c leads group-77777.'`)
	seen := func(name string) string {
		return fmt.Sprintf(`[...document.querySelectorAll('.rows .row:not([hidden]):not(.awaited) .name')].some(n => n.textContent === '%s')`, name)
	}
	p.until(seen("group-0000"))
	ask[bool](p, `(document.querySelector('.rows').scrollTop = 1e9, true)`)
	p.until(seen("group-99999"))
	// By the keyboard: from the end to the beginning.
	p.tabTo(`.rows .row`)
	p.press(kb.Home)
	p.until(`document.activeElement.dataset.group === 'quorum:group-0000'`)
	p.do(chromedp.SendKeys(chromedp.CSS(`#search`), "4242 elected"))
	p.until(`document.getElementById('groups-count').textContent === '20 of 100000' && ` + seen("group-4242"))
	p.click(`.rows .row[data-group="quorum:group-4242"]`)
	p.until(`document.getElementById('headline').textContent === 'a leads group-4242.' && location.hash === '#/quorum/group-4242'`)
	if n := ask[int](p, `document.querySelectorAll('.rows .row').length + document.querySelectorAll('#group-choice option').length`); n > 120 {
		t.Errorf("the page has %d rows and options", n)
	}
}
