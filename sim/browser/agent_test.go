package browser_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/web/watch"
	"github.com/regentproject/regent/internal/session"
)

// The bearer tokens of the agents' configurations.
const (
	lookingToken  = "a token that may look"
	orderingToken = "a token that may give orders"
	allToken      = "a token that may give all orders"
)

// An agents is a council of agents in this process.
type agents struct {
	testing.TB
	names, urls, sockets []string
	stop                 []context.CancelFunc
}

// runAgents runs a council of agents until the test ends. They know three tokens: one looks, one gives orders about all groups but theirs, and one about all.
func runAgents(t *testing.T, names ...string) *agents {
	t.Helper()
	c := cluster.Open(t, cluster.Options{Names: names, Config: "realtime: false\ntiming: {lease: 2s}\n" +
		"groups: [{name: cache, mode: local}, {name: search, mode: eventual}]\nrights: [{groups: [theirs], operate: [\"token:looks\", \"token:all\"]}]\n"})
	a := &agents{TB: t, names: names}
	tokens := fmt.Sprintf("tokens: [{name: looks, role: read, sha256: \"%x\"}, {name: orders, role: write, sha256: \"%x\"}, {name: all, role: write, sha256: \"%x\"}]",
		sha256.Sum256([]byte(lookingToken)), sha256.Sum256([]byte(orderingToken)), sha256.Sum256([]byte(allToken)))
	for _, name := range names {
		file := c.ConfigFile(name)
		err := c.WriteConfig(name)
		if err == nil {
			err = edit(file, "anonymous: write", tokens)
		}
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		at, over := make(chan string, 1), make(chan error, 1)
		go func() {
			over <- agent.Run(ctx, agent.Options{Config: file, Dashboard: func(a *agent.Agent) http.Handler { return watch.Dashboard(a) }, Log: io.Discard, Ready: func(http string) { at <- http }})
		}()
		t.Cleanup(func() {
			cancel()
			if err := <-over; err != nil {
				t.Error(err)
			}
		})
		select {
		case addr := <-at:
			a.urls = append(a.urls, "http://"+addr+"/ui/")
		case err := <-over:
			over <- nil
			t.Fatal(err)
		}
		a.sockets, a.stop = append(a.sockets, c.Socket(name)), append(a.stop, cancel)
	}
	return a
}

// edit replaces a text in a file.
func edit(file, old, text string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, bytes.ReplaceAll(b, []byte(old), []byte(text)), 0o600)
}

// lead has a program at an agent lead groups, one after the other.
func (a *agents) lead(at int, groups ...session.Candidate) {
	a.Helper()
	c, err := session.Dial(context.Background(), a.sockets[at])
	if err != nil {
		a.Fatal(err)
	}
	a.Cleanup(func() { _ = c.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, g := range groups {
		if _, err := c.Campaign(ctx, g); err != nil {
			a.Fatal(err)
		}
	}
}

// logIn types a token into the form.
func (p *tab) logIn(token string) {
	p.Helper()
	p.until(`!document.getElementById('login').hidden && !document.getElementById('login-fields').hidden`)
	p.do(chromedp.Evaluate[chromedp.Void](`document.getElementById('token').focus(); document.getElementById('token').select()`))
	p.do(chromedp.KeyEvent(token + kb.Enter))
}

// What the page says beside its buttons.
const whyNot = `(document.getElementById('why-not')?.textContent ?? '')`

func group(name string) string { return fmt.Sprintf(`.rows .row[data-group="quorum:%s"]`, name) }

func TestAgentInTheBrowser(t *testing.T) {
	a := runAgents(t, "a", "b", "c")
	a.lead(0, session.Candidate{Group: "ours"}, session.Candidate{Group: "theirs"}, session.Candidate{Group: "cache", Mode: regent.Local}, session.Candidate{Group: "search", Mode: regent.Eventual})
	p := open(t, a.urls[1]) // which passes orders on to the host whose program leads
	p.forgiven = true       // refusals are errors to a browser

	// A person without a login sees why, and that a wrong token is none.
	p.until(`document.activeElement.id === 'token' && document.getElementById('login-reason').textContent === 'You are not logged in.'`)
	p.until(`getComputedStyle(document.querySelector('main')).display === 'none'`)
	p.accessible("the form")
	p.pictured("agent-login.png", 1280, false)
	p.logIn("no token of theirs")
	p.until(`document.getElementById('login-reason').textContent.startsWith('unknown bearer token')`)

	// A reader sees the page, and beside disabled buttons why they are.
	p.logIn(lookingToken)
	p.until(`document.getElementById('login').hidden && document.querySelectorAll('.node').length === 3 && document.getElementById('who').textContent === 'token looks'`)
	p.click(group("ours"))
	p.until(whyNot + `.includes('token looks has the role read') && [...document.querySelectorAll('#chosen .actions button')].length > 0 && [...document.querySelectorAll('#chosen .actions button')].every(b => b.disabled)`)
	p.accessible("a group that the reader may not operate")
	p.do(size(390, 800, true))
	p.accessible("the same on a telephone, dark")
	p.do(size(1280, 900, false))
	p.pictured("agent-reader.png", 390, true)
	p.click("#log-out")
	p.until(`!document.getElementById('login').hidden && document.querySelectorAll('.node').length === 0`)

	// One who may give orders gives them, also after the page was loaded again.
	p.logIn(orderingToken)
	p.click(group("theirs"))
	p.until(whyNot + `.includes('token orders may not operate it')`)
	p.do(chromedp.Reload())
	p.click(group("ours"))
	p.until(`[...document.querySelectorAll('#chosen .actions button')].length > 0 && [...document.querySelectorAll('#chosen .actions button')].every(b => !b.disabled)`)
	// What all members say of the group, and not only the one whose page it is.
	const says = `document.getElementById('agreement-text').textContent`
	p.until(says + ` === '3 of 3 agree: a leads.' && [...document.querySelectorAll('.node .how')].filter(n => n.textContent === 'follows a').length === 2`)
	p.until(`/^\d\d:\d\d:\d\d$/.test(document.getElementById('clock').textContent) && document.getElementById('headline').textContent === 'a leads ours.'`)
	p.pictured("agent.png", 1280, false)

	// From the group to a member, to a link, to the reason; the address survives that the page is loaded again.
	ways := func(label string) {
		t.Helper()
		p.until(fmt.Sprintf(`[...document.querySelectorAll('#details-ways button')].some(b => b.textContent === %q)`, label))
		p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`[...document.querySelectorAll('#details-ways button')].find(b => b.textContent === %q).click()`, label)))
	}
	p.until(`[...document.querySelectorAll('#details-lines li')].some(l => l.textContent.startsWith('Reason: elected a'))`)
	ways("member a")
	p.until(whyNot + `.startsWith('this is about all groups, and this client may not operate all of them')`)
	p.accessible("a member that is chosen")
	ways("link a – b")
	p.until(`location.hash === '#/quorum/ours/link/a/b'`)
	p.do(chromedp.Reload())
	p.until(`document.querySelector('#chosen strong')?.textContent === 'Link a – b' && [...document.querySelectorAll('#details-lines li')].some(l => l.textContent.startsWith('b hears a '))`)
	// Both directions of every link, and the pauses of every member, are by the word of the member that knows.
	p.until(`document.querySelectorAll('#matrix button').length === 6 && document.querySelectorAll('#matrix button.unknown').length === 0 && document.querySelectorAll('.half.unknown').length === 0`)
	p.do(chromedp.Evaluate[chromedp.Void](`location.hash = '#/quorum/ours/member/c'`))
	p.until(`document.getElementById('pauses-title').textContent === 'Pauses of c' && document.querySelectorAll('#pauses-table tr').length > 1`)
	tryModes(p)
	// The tab shows ours by itself, and its address then is that of ours: another group comes before it, so that the address changes.
	for _, g := range []string{"theirs", "ours"} {
		p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`location.hash = '#/quorum/%s'`, g)))
		p.until(fmt.Sprintf(`document.querySelector('#chosen strong')?.textContent === 'Group %s'`, g))
	}
	a.stop[2]()
	p.until(says + ` === '2 of 3 agree: a leads. c does not answer.' && document.getElementById('agreement').dataset.whole === 'no'`)
	p.until(`[...document.querySelectorAll('#matrix tbody th')].map(h => h.textContent).join('') === 'ab'`)
	p.click(`#chosen button[data-verb="resign"]`)
	p.confirm("Ask the program that leads ours to stop, and give the group up?")
	p.until(`[...document.querySelectorAll('#entries li')].some(l => l.textContent.includes('gave the group up'))`)
}

// confirm answers the question that the page asks with yes. It stays as it was if a person cancels.
func (p *tab) confirm(question string) {
	p.Helper()
	p.until(fmt.Sprintf(`document.getElementById('confirm').open && document.getElementById('confirm-text').textContent === %q && document.activeElement.id === 'confirm-no'`, question))
	p.accessible(question)
	p.click("#confirm-yes")
	p.until(`!document.getElementById('confirm').open`)
}

// tryModes looks at groups of the other modes: what their members say is in the words of the mode.
func tryModes(p *tab) {
	p.Helper()
	for mode, want := range map[string]string{"local": "All 3 are in one part: a leads it.", "eventual": "3 of 3 trust a."} {
		p.click(fmt.Sprintf(`#modes [data-mode=%q]`, mode))
		p.until(fmt.Sprintf(`document.getElementById('agreement-text').textContent === %q && !document.getElementById('agreement').hidden`, want))
		p.accessible("a group of mode " + mode)
	}
	p.click(`#modes [data-mode="quorum"]`)
}

// A person who may operate all groups drains a host from the page of another one, after a question.
func TestDrainInTheBrowser(t *testing.T) {
	a := runAgents(t, "a", "b", "c")
	a.lead(0, session.Candidate{Group: "ours"})
	p := open(t, a.urls[1])
	p.logIn(allToken)
	p.until(`document.querySelectorAll('.node').length === 3 && document.getElementById('headline').textContent === 'a leads ours.'`)
	drained := `document.querySelector('.node[data-member="a"] .how').textContent === 'drained'`
	p.do(chromedp.Evaluate[chromedp.Void](`location.hash = '#/quorum/ours/member/a'`))
	p.click(`#chosen button[data-verb="drain"]`)
	p.until(`document.getElementById('confirm').open`)
	p.press(kb.Escape)
	p.until(`!document.getElementById('confirm').open && document.getElementById('headline').textContent === 'a leads ours.'`)
	p.click(`#chosen button[data-verb="drain"]`)
	p.confirm("Drain a? It hands over all that it leads, and leads nothing until it is undrained, also after a restart. It votes as before.")
	p.until(drained + ` && document.getElementById('headline').textContent.startsWith('No member leads ours')`)
	p.until(`/^a is drained; groups that moved to other hosts: \d+; groups without a leader, because no program campaigns elsewhere: [12]$/.test(document.getElementById('toast').textContent)`)
	p.click(`#chosen button[data-verb="undrain"]`)
	p.confirm("Let programs of a lead again?")
	p.until(`document.getElementById('toast').textContent === 'a is not drained: its programs may lead' && document.querySelector('#chosen button[data-verb="drain"]') !== null`)
}
