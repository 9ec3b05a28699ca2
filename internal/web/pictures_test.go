package web_test

import (
	"flag"
	"os"
	"path/filepath"

	"github.com/chromedp/chromedp"
)

var pictures = flag.String("pictures", "", "write pictures of the page for the documentation to this directory")

// pictured takes a picture of the page as it is, if pictures are wanted: of the whole page, in a window of that width.
func (p *tab) pictured(name string, width int64, dark bool) {
	p.Helper()
	if *pictures == "" {
		return
	}
	p.do(size(width, 800, dark))
	// Members that move stand still by then, and numbers that are drawn twice a second are there.
	p.until(`new Promise(done => setTimeout(() => done(true), 1500))`)
	b := get(p, chromedp.FullScreenshot(100))
	p.do(size(1280, 900, false))
	if err := os.WriteFile(filepath.Join(*pictures, name), b, 0o644); err != nil {
		p.Fatal(err)
	}
}
