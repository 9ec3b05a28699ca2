package browser_test

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/chromedp"
)

// accessible has axe-core look at the page as it is, and fails the test if it finds anything serious. what says which state it is.
func (p *tab) accessible(what string) {
	p.Helper()
	script, err := os.ReadFile(filepath.Join("axe", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		p.Fatalf("%v: run make deps", err)
	}
	p.do(chromedp.Evaluate[chromedp.Void](string(script) + "; undefined"))
	// The promise is awaited by the poll.
	p.do(chromedp.Evaluate[chromedp.Void](`window.found_ = null; axe.run(document, { resultTypes: ['violations'] }).then(r => {
		window.found_ = r.violations.filter(v => ['serious', 'critical'].includes(v.impact)).map(v => v.impact + ': ' + v.help + ': ' + v.nodes.slice(0, 4).map(n => n.html.slice(0, 160) + ' ' + n.any.concat(n.all).map(a => a.message).join('; ')).join(' | '));
	}, e => { window.found_ = [String(e)] }); undefined`))
	p.until(`window.found_ !== null`)
	if found := ask[[]string](p, `window.found_`); len(found) > 0 {
		p.Errorf("%s: axe-core finds\n%s", what, strings.Join(found, "\n"))
	}
}
