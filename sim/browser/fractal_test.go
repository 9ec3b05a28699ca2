package browser_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/demo"
	"github.com/regentproject/regent/checkpoint/fractal"
)

// tilesVar has members of a demonstration compute tiles.
const tilesVar = "REGENT_TEST_TILES"

func computeTiles(ctx context.Context, m *regent.Member, o cluster.Order) error {
	if os.Getenv(tilesVar) == "" {
		return nil
	}
	var names []string
	for _, p := range o.Council {
		names = append(names, p.Name)
	}
	return fractal.Run(ctx, m, filepath.Dir(o.Dir), o.Name, names)
}

// What the page of the fractal shows, as JavaScript.
const (
	tileText  = `[...document.querySelectorAll('.tile b')].map(b => b.textContent)`
	allOwned  = tileText + `.length === 16 && ` + tileText + `.every(t => t.includes(' · '))`
	protected = `[...document.querySelectorAll('.tile .shares')].every(s => s.textContent.includes('on 7 disks'))`
)

func TestTilesOfMembersThatAPersonKillsGoOn(t *testing.T) {
	t.Setenv(tilesVar, "1")
	p := open(t, demonstrateAs(t, demo.Options{Members: 7, Page: fractal.Page, Path: fractal.Path}))
	p.until(allOwned + " && " + protected)
	p.pictured("fractal.png", 1100, false)
	p.click(`button[aria-label="crash a"]`)
	p.click(`button[aria-label="pause c"]`)
	p.click(`button[aria-label="crash e"]`)
	p.until(allOwned + ` && ` + tileText + `.every(t => !/^[ace] /.test(t))`)
	p.until(`document.querySelector('#events').textContent.includes('goes on with')`)
	p.pictured("fractal-recovered.png", 1100, true)
	p.pictured("fractal-small.png", 400, false)
	for _, width := range []int64{400, 800, 1280} {
		p.do(size(width, 900, false))
		if ask[bool](p, `document.documentElement.scrollWidth > document.documentElement.clientWidth`) {
			t.Errorf("the page is wider than its window of %d pixels", width)
		}
	}
	p.click(`button[aria-label="start a"]`)
	p.click(`button[aria-label="resume c"]`)
	p.click(`button[aria-label="start e"]`)
	p.until(`[...document.querySelectorAll('#crew .in')].length === 7 && ` + allOwned + " && " + protected)
}
