package browser_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/demo"
)

// calm is a timing that a busy machine can keep.
var calm = func() regent.Timing {
	t := regent.LAN
	t.RoundTrip, t.Renew, t.Lease, t.LongestLease = 100*time.Millisecond, 200*time.Millisecond, time.Second, time.Second
	t.Guard, t.Delay = 50*time.Millisecond, 80*time.Millisecond
	return t
}()

// demonstrate runs a demonstration of real processes until the test ends, and returns where its page is.
func demonstrate(t *testing.T) string {
	t.Helper()
	return demonstrateAs(t, demo.Options{Members: 5})
}

// demonstrateAs does so with options.
func demonstrateAs(t *testing.T, o demo.Options) string {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	url, over := make(chan string, 1), make(chan error, 1)
	go func() {
		o.Timing, o.Out, o.Addr, o.Command, o.Open = calm, io.Discard, "127.0.0.1:0", cluster.Child(), func(u string) { url <- u }
		over <- demo.Run(ctx, o)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	select {
	case u := <-url:
		return u
	case err := <-over:
		over <- nil
		t.Fatalf("the demonstration ended: %v", err)
	}
	return ""
}

// What the page shows, as JavaScript.
const (
	leaders  = `[...document.querySelectorAll('.node[data-leads="yes"]')].map(n => n.dataset.member)`
	areas    = `[...document.querySelectorAll('.field')].map(f => f.dataset.area)`
	locals   = `[...document.querySelectorAll('.field[data-local="yes"]')].map(f => f.textContent)`
	allUp    = `[...document.querySelectorAll('.node')].length === 5 && [...document.querySelectorAll('.node')].every(n => n.dataset.state === 'up')`
	oneWhole = allUp + ` && ` + leaders + `.length === 1 && ` + locals + `.length === 0 && ` + areas + `.length === 1 && ` + areas + `[0].split(' ').length === 5`
)

// watchLeaders makes the page write down who it shows as leaders, whenever that changes.
const watchLeaders = `(() => {
	const now = () => ` + leaders + `.join('+');
	window.shown = [now()];
	new MutationObserver(() => { if (window.shown.at(-1) !== now()) window.shown.push(now()); })
		.observe(document.getElementById('picture'), { subtree: true, attributes: true, attributeFilter: ['data-leads'] });
	return true;
})()`

func member(name string) string { return fmt.Sprintf(`.node[data-member="%s"]`, name) }

// chosen says that exactly these members are chosen.
func chosen(names ...string) string {
	return fmt.Sprintf(`[...document.querySelectorAll('.node.chosen')].map(n => n.dataset.member).join(' ') === '%s'`, strings.Join(names, " "))
}

// mend waits until everything is as in the beginning.
func mend(p *tab) {
	p.Helper()
	p.press(kb.Escape)
	p.click(`#chosen button[data-verb="mend"]`)
	p.until(oneWhole)
}

func TestDemonstrationInTheBrowser(t *testing.T) {
	p := open(t, demonstrate(t))
	p.until(oneWhole)
	for _, c := range []struct {
		name string
		test func(*testing.T, *tab)
	}{
		{"a leader crashed by clicking is replaced and never shows beside the new one", crashByClicking},
		{"members cut off by clicking are an area of their own with a local leader", partByClicking},
		{"a link is cut and slowed down by clicking", linkByClicking},
		{"a group is resigned and handed over", handOver},
		{"the keyboard is enough", keyboardAlone},
		{"a member is added and another removed by clicking, while a third is dead", comeAndGo},
	} {
		ok := t.Run(c.name, func(t *testing.T) {
			q := *p
			q.TB = t
			c.test(t, &q)
		})
		if !ok {
			return
		}
		mend(p)
	}
}

func crashByClicking(t *testing.T, p *tab) {
	old := ask[[]string](p, leaders)[0]
	ask[bool](p, watchLeaders)
	p.clickUntil(member(old)+` .body`, chosen(old))
	p.click(`#chosen button[data-verb="crash"]`)
	p.until(fmt.Sprintf(`document.querySelector('%s').dataset.state === 'down'`, member(old)))
	p.until(fmt.Sprintf(`%s.length === 1 && %s[0] !== %q`, leaders, leaders, old))
	gone := false
	for _, s := range ask[[]string](p, `window.shown`) {
		if strings.Contains(s, "+") {
			t.Errorf("the page showed %s as leaders at once", s)
		}
		gone = gone || s != old
		if gone && s == old {
			t.Errorf("the page showed %s again after it was dead", s)
		}
	}
	p.until(`[...document.querySelectorAll('.flaw[data-flaw="gap"]')].length > 0`)
	if n := ask[int](p, `document.querySelectorAll('.flaw[data-flaw="overlap"]').length`); n > 0 {
		t.Errorf("the timeline shows %d overlaps", n)
	}
}

func partByClicking(t *testing.T, p *tab) {
	p.clickUntil(member("d")+` .body`, chosen("d"))
	p.clickUntil(member("e")+` .body`, chosen("d", "e"), chromedp.ButtonModifiers(kb.ModifierShift))
	p.click(`#chosen button[data-verb="part"]`)
	// A majority goes on, or elects another leader; the rest has a local one, and says so.
	p.until(leaders + `.length === 1 && ` + areas + `.length === 2 && ` + locals + `.join() === 'local leader of d e' &&
		'de'.includes(document.querySelector('.node[data-leads="local"]').dataset.member)`)
	p.until(areas + `.length === 2`)
	colours := ask[[]string](p, `[...document.querySelectorAll('.field path')].map(f => getComputedStyle(f).fill)`)
	if colours[0] == colours[1] {
		t.Errorf("both areas are %s", colours[0])
	}
	p.until(`document.querySelectorAll('#matrix button.cut').length === 12`)
	p.until(`document.querySelectorAll('#pauses-table .bar').length > 0 && document.querySelector('#pauses-table .survives') !== null &&
		/^Leases survive pauses of .*; the longest in 24 hours was .*, at /.test(document.querySelector('#pauses-text').textContent)`)
	p.accessible("two members that are cut off")
	p.pictured("dashboard.png", 1280, false)
	p.pictured("dashboard-dark.png", 1280, true)
	p.pictured("dashboard-phone.png", 390, false)
}

func linkByClicking(t *testing.T, p *tab) {
	// A line has no area to click on but its own: a third of the way, where no other crosses it.
	p.clickAt(`(() => { const l = document.querySelector('.line[data-link="a>b"] .grip');
		const m = l.getScreenCTM(), q = new DOMPoint((+l.getAttribute('x1') * 2 + +l.getAttribute('x2')) / 3, (+l.getAttribute('y1') * 2 + +l.getAttribute('y2')) / 3).matrixTransform(m);
		return [q.x, q.y] })()`, `document.querySelector('#chosen strong')?.textContent === 'Link a – b'`)
	p.click(`#chosen button[data-verb="link-slow"]`)
	p.until(`document.querySelector('.line[data-link="a>b"]').dataset.state === 'slow'`)
	p.click(`#chosen button[data-verb="link-cut"]`)
	p.until(`document.querySelector('.line[data-link="a>b"]').dataset.state === 'cut'`)
	p.click(`#chosen button[data-verb="link-heal"]`)
	p.until(`document.querySelector('.line[data-link="a>b"]').dataset.state === 'fast'`)
}

// comeAndGo leaves a council of a, b, c, d and e, as it found it.
func comeAndGo(t *testing.T, p *tab) {
	row := func(name string) string {
		return fmt.Sprintf(`[...document.querySelectorAll('#members-table tbody tr')].find(r => r.querySelector('.badge').textContent === %q)`, name)
	}
	said := func(text string) string {
		return fmt.Sprintf(`[...document.querySelectorAll('#entries li')].some(l => l.textContent.includes(%q))`, text)
	}
	idle := `/^number \d+, settled$/.test(document.getElementById('ribbon-text').textContent)`
	p.until(idle)
	p.clickUntil(member("e")+` .body`, chosen("e"))
	p.click(`#chosen button[data-verb="crash"]`)
	p.until(fmt.Sprintf(`document.querySelector('%s').dataset.state === 'down'`, member("e")))
	p.press(kb.Escape)
	p.click(`#chosen button[data-verb="add"]`)
	p.until(`document.getElementById('ribbon-text').textContent.includes('adding f') && document.querySelectorAll('#ribbon-marks li').length > 4`)
	p.until(fmt.Sprintf(`document.querySelector('%s')?.dataset.place === 'learning'`, member("f")))
	p.until(said("council: member f added, number ") + ` && ` + idle)
	p.until(fmt.Sprintf(`document.querySelector('%s').dataset.state === 'up' && document.querySelector('%s').dataset.place === ''`, member("f"), member("f")))

	// Two are removed in one change: the dead one, and the new one.
	p.clickUntil(member("e")+` .body`, chosen("e"))
	p.clickUntil(member("f")+` .body`, chosen("e", "f"), chromedp.ButtonModifiers(kb.ModifierShift))
	p.click(`#chosen button[data-verb="remove"]`)
	p.until(said("council: member e removed, member f removed, number ") + ` && ` + idle)
	p.until(fmt.Sprintf(`document.querySelector('%s')?.dataset.place === 'removed'`, member("f")))
	p.until(fmt.Sprintf(`document.querySelector('%s') === null && %s === undefined`, member("f"), row("f")))

	// By the keyboard: a name is used again.
	p.press(kb.Escape, "+")
	p.until(said("council: member e added, number ") + ` && ` + idle)
	p.until(allUp)
	p.until(`(() => { const n = [...document.querySelectorAll('.node')].map(x => x.dataset.number); return n.length === 5 && n[0] > 0 && n.every(x => x === n[0]) })()`)
}

func handOver(t *testing.T, p *tab) {
	mail := `.rows .row[data-group="quorum:mail"]`
	p.click(mail)
	leader := mail + ` .leader .badge`
	p.until(fmt.Sprintf(`document.querySelector('%s') !== null`, leader))
	old := ask[string](p, fmt.Sprintf(`document.querySelector('%s').textContent`, leader))
	next := "a"
	if old == next {
		next = "b"
	}
	p.click(fmt.Sprintf(`#chosen button[data-verb="transfer"][data-to="%s"]`, next))
	p.until(fmt.Sprintf(`document.querySelector('%s')?.textContent === %q`, leader, next))
	p.click(`#chosen button[data-verb="resign"]`)
	p.until(`[...document.querySelectorAll('#entries li')].some(l => l.textContent.includes('you: resign'))`)
	p.do(chromedp.Evaluate[chromedp.Void](`document.getElementById('group-choice').value = 'quorum:billing'; document.getElementById('group-choice').dispatchEvent(new Event('change'))`))
}

func keyboardAlone(t *testing.T, p *tab) {
	p.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('.skip').focus()`)) // the top of the page
	p.tabTo(`.node`)
	p.press(kb.ArrowRight)
	name := ask[string](p, `document.activeElement.dataset.member`)
	p.press(kb.Enter)
	p.until(fmt.Sprintf(`document.querySelector('%s').getAttribute('aria-pressed') === 'true'`, member(name)))
	p.press("p")
	p.until(fmt.Sprintf(`document.querySelector('%s').dataset.state === 'paused'`, member(name)))
	p.press("r")
	p.until(fmt.Sprintf(`document.querySelector('%s').dataset.state === 'up'`, member(name)))
	p.press("c")
	p.until(fmt.Sprintf(`document.querySelector('%s').dataset.state === 'down'`, member(name)))
	p.press("s")
	p.until(fmt.Sprintf(`document.querySelector('%s').dataset.state === 'up'`, member(name)))
	// Search, and choose a group in the table.
	p.press("/")
	p.until(`document.activeElement.id === 'search'`)
	p.press(kb.Backspace, "mail") // a driven keyboard types the slash, though the page does not want it
	p.until(`/^1 of [2-9]$/.test(document.getElementById('groups-count').textContent)`)
	p.tabTo(`.rows .row`)
	p.press(kb.Enter)
	p.until(`document.querySelector('#chosen strong')?.textContent === 'Group mail'`)
	p.pressAt(`.bar`, kb.ArrowLeft, // evidence without a mouse
		`!document.getElementById('tip').hidden && document.getElementById('tip').textContent.includes('led')`)
	p.press(kb.Escape)
	p.do(chromedp.Evaluate[chromedp.Void](`{ const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input')) }`))
	p.do(chromedp.Evaluate[chromedp.Void](`document.getElementById('group-choice').value = 'quorum:billing'; document.getElementById('group-choice').dispatchEvent(new Event('change'))`))
}
