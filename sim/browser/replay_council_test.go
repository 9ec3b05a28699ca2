package browser_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/replay"
	"github.com/regentproject/regent/sim/script"
)

// A scenario of a council shows, step by step, the number that each member has, and whether it has adopted and settled.
func TestRecordedChangeOfTheCouncilInTheBrowser(t *testing.T) {
	name, text, err := script.Find("council/replace_everybody")
	if err != nil {
		t.Fatal(err)
	}
	s, err := script.Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	var trace bytes.Buffer
	to := sim.NewTrace(&trace)
	if _, err := script.Play(s, script.Options{Observers: []sim.Observer{to}}); err != nil {
		t.Fatal(err)
	}
	if err := to.Flush(); err != nil {
		t.Fatal(err)
	}
	recording, err := replay.Read(&trace)
	if err != nil {
		t.Fatal(err)
	}
	player := replay.NewPlayer(name, recording)
	server, err := web.Serve("127.0.0.1:0", web.Handler(player, web.Options{Do: player.Do, Load: player.Load}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() { player.Run(ctx); close(over) }()
	t.Cleanup(func() { cancel(); <-over; server.Close() })

	p := open(t, server.URL)
	p.until(at(0) + ` && document.getElementById('ribbon-text').textContent === 'number 0, settled'`)
	seek := func(when time.Duration) {
		t.Helper()
		step := recording.StepAt(when)
		p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{ const s = document.querySelector('#playback input[type=range]'); s.value = %d; s.dispatchEvent(new Event('input')); s.dispatchEvent(new Event('change')) }`, step)))
		p.until(at(step))
	}
	const numbers = `[...document.querySelectorAll('.node')].map(n => n.dataset.member + n.dataset.number + n.dataset.place).join(' ')`
	for _, c := range []struct {
		when         time.Duration
		ribbon, want string
	}{
		{1100 * time.Millisecond, "number 1: adding d e f, removing a b c; settling", "a1leaving b1leaving c1leaving d1learning e1learning f1learning"},
		{1900 * time.Millisecond, "number 4: adding d e f, removing a b c; settling", "a4leaving b4leaving c4leaving d4 e4 f4"},
		{13 * time.Second, "number 8, settled", "a8removed b8removed c8removed d8 e8 f8"},
		{1900 * time.Millisecond, "number 4: adding d e f, removing a b c; settling", "a4leaving b4leaving c4leaving d4 e4 f4"},
	} {
		seek(c.when)
		p.until(fmt.Sprintf(`document.getElementById('ribbon-text').textContent.startsWith(%q)`, c.ribbon))
		p.until(fmt.Sprintf(`%s === %q`, numbers, c.want))
	}
	p.until(`document.querySelectorAll('#ribbon-marks .mark[data-mark="adopted"].on').length === 6`)
	p.pictured("replay-council.png", 1280, false)
}
