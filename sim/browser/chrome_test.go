// Package browser_test tries Regent's pages in Chromium: that of a demonstration, and that of a recorded run. It is here, and not
// beside the pages, because only this module knows both.
package browser_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/regentproject/regent/agent/cluster"
)

// browser is one Chromium for all tests; each has a tab of its own.
var browser struct {
	sync.Once
	ctx  context.Context
	err  error
	stop func()
}

func TestMain(m *testing.M) {
	cluster.Main(computeTiles)
	status := m.Run()
	if browser.stop != nil {
		browser.stop()
	}
	os.Exit(status)
}

// patience is how long a test waits for what should happen: the machine may be busy with other things.
const patience = 40 * time.Second

// start starts Chromium. As root it has no sandbox to use.
func start() {
	path, err := exec.LookPath("chromium")
	if err != nil {
		browser.err = fmt.Errorf("%w: install Chromium (make deps does on Debian)", err)
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU, chromedp.WindowSize(1280, 900),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("force-color-profile", "srgb"))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(alloc)
	browser.ctx, browser.stop = ctx, func() { cancel(); stop() }
	browser.err = chromedp.Do(ctx)
}

// A tab is a page in the browser.
type tab struct {
	testing.TB
	ctx context.Context
	// complaints are errors that the page wrote to its console.
	complaints []string
	// forgiven says that the page may complain: its connection is cut on purpose.
	forgiven bool
}

// open opens a page. At the end of the test the page must not have complained.
func open(t testing.TB, url string, before ...chromedp.Action[chromedp.Void]) *tab {
	t.Helper()
	browser.Do(start)
	if browser.err != nil {
		t.Fatal(browser.err)
	}
	ctx, cancel := chromedp.NewContext(browser.ctx)
	p := &tab{TB: t, ctx: ctx}
	var heard sync.WaitGroup
	t.Cleanup(func() {
		if t.Failed() {
			p.lastWords()
		}
		cancel()
		heard.Wait()
		if len(p.complaints) > 0 && !p.forgiven {
			t.Errorf("the page complains:\n%s", strings.Join(p.complaints, "\n"))
		}
	})
	// A tab lives as long as the context of its first action.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	messages := chromedp.Console(ctx)
	heard.Go(func() { p.hear(messages) })
	p.do(append(before, chromedp.Navigate(url))...)
	return p
}

// hear collects what the page complains of.
func (p *tab) hear(messages iter.Seq2[chromedp.ConsoleMessage, error]) {
	for m, err := range messages {
		if err != nil {
			return
		}
		if m.IsException() || m.Type == "error" || m.Type == "warning" || m.Type == "assert" {
			p.complaints = append(p.complaints, fmt.Sprintf("%v %s", m, m.URL))
		}
	}
}

// lastWords shows what the page looked like when a test failed.
func (p *tab) lastWords() {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	if text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body.innerText.slice(0, 4000)`)); err == nil {
		p.Logf("the page says:\n%s", text)
	}
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.Fatal(err)
	}
}

// until waits until an expression of JavaScript is true.
func (p *tab) until(what string) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 2*patience)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Poll[chromedp.Void](what, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(patience)))
	if err != nil {
		p.Fatalf("until %s: %v", what, err)
	}
}

// ask returns the value of an expression of JavaScript.
func ask[V any](p *tab, what string) V {
	p.Helper()
	return get(p, chromedp.Evaluate[V](what))
}

func get[V any](p *tab, a chromedp.Action[V]) V {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		p.Fatal(err)
	}
	return v
}

// click presses the mouse on what a selector finds, where it is at that moment.
func (p *tab) click(selector string) {
	p.Helper()
	p.until(fmt.Sprintf("document.querySelector(%q) !== null", selector))
	p.do(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// clickUntil clicks in the middle of something that may move, again if it was missed, until an expression of JavaScript is
// true.
func (p *tab) clickUntil(selector, what string, options ...chromedp.MouseOption) {
	p.Helper()
	p.clickAt(fmt.Sprintf(`(() => { const n = document.querySelector(%q); n.scrollIntoView({ block: 'center' }); const b = n.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2] })()`, selector), what, options...)
}

// clickAt does the same at a point that an expression of JavaScript gives.
func (p *tab) clickAt(point, what string, options ...chromedp.MouseOption) {
	p.Helper()
	for begin := time.Now(); time.Since(begin) < patience; {
		at := ask[[]float64](p, point)
		p.do(chromedp.MouseClickXY(at[0], at[1], options...))
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		_, err := chromedp.Run(ctx, chromedp.Poll[chromedp.Void](what, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(2*time.Second)))
		cancel()
		if err == nil {
			return
		}
	}
	p.Fatalf("clicks at %s did not lead to %s", point, what)
}

// pressAt presses a key at what a selector finds, again if that has moved out of the picture, until an expression of JavaScript is true.
func (p *tab) pressAt(selector, key, what string) {
	p.Helper()
	for begin := time.Now(); time.Since(begin) < patience; {
		p.tabTo(selector)
		p.press(key)
		ctx, cancel := context.WithTimeout(p.ctx, patience)
		_, err := chromedp.Run(ctx, chromedp.Poll[chromedp.Void](what, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(2*time.Second)))
		cancel()
		if err == nil {
			return
		}
	}
	p.Fatalf("%q at %s did not lead to %s", key, selector, what)
}

// press presses keys, one after the other.
func (p *tab) press(keys ...string) {
	p.Helper()
	for _, k := range keys {
		p.do(chromedp.KeyEvent(k))
	}
}

// tabTo presses the tabulator until what the selector finds has the focus.
func (p *tab) tabTo(selector string) {
	p.Helper()
	for range 60 {
		if ask[bool](p, fmt.Sprintf("document.activeElement?.matches(%q) ?? false", selector)) {
			return
		}
		p.press(kb.Tab)
	}
	p.Fatalf("the tabulator does not lead to %s", selector)
}

// size makes the page as large as a screen, or a telephone.
func size(width, height int64, dark bool) chromedp.Action[chromedp.Void] {
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	return chromedp.Steps(chromedp.EmulateViewport(width, height), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return err
	}))
}
