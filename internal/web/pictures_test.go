package web_test

import (
	"flag"
	"os"
	"path/filepath"

	"github.com/chromedp/chromedp"
)

var pictures = flag.String("pictures", "", "write pictures of the page to this directory")

// picture takes a picture of the whole page, if pictures are wanted.
func (p *tab) picture(name string) {
	p.Helper()
	if *pictures == "" {
		return
	}
	b := get(p, chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(*pictures, name), b, 0o644); err != nil {
		p.Fatal(err)
	}
}

