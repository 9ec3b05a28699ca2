package lab

import (
	"bytes"
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/sim/effort"
)

// TestExperimentsConfirmWhatTheyClaim runs every experiment in its small form. Each checks its claims, so that one fails if the
// protocol is broken.
func TestExperimentsConfirmWhatTheyClaim(t *testing.T) {
	for _, e := range All() {
		t.Run(e.Name, func(t *testing.T) {
			if effort.Raced() && !strings.HasPrefix(e.Name, "timefree-p") {
				return // worlds share nothing: one experiment that runs on all cores is enough
			}
			t.Parallel()
			r, err := e.Run(t.Context(), Settings{Seed: 1, Quick: true})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Checks) == 0 {
				t.Error("nothing was checked")
			}
			for _, c := range r.Failed() {
				t.Errorf("%s: %s", c.Claim, c.Measured)
			}
			for _, c := range r.Charts {
				drawn(t, c)
			}
			var text bytes.Buffer
			r.Write(&text)
			t.Log(text.String())
		})
	}
}

// drawn draws a chart and looks whether it is SVG that names all that it shows.
func drawn(t *testing.T, c *Chart) {
	t.Helper()
	var svg bytes.Buffer
	if err := c.WriteSVG(&svg); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(svg.Bytes(), new(struct{})); err != nil || !strings.Contains(svg.String(), "<svg") {
		t.Errorf("%s: not SVG: %v", c.Title, err)
	}
	for _, want := range append([]string{c.Title, c.X, c.Y}, names(c)...) {
		var escaped bytes.Buffer
		if err := xml.EscapeText(&escaped, []byte(want)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(svg.String(), escaped.String()) {
			t.Errorf("%s: the figure does not say %q", c.Title, want)
		}
	}
}

func names(c *Chart) []string {
	var all []string
	for i := range c.Curves {
		all = append(all, c.Curves[i].Name)
	}
	return all
}

func TestNamesOfExperimentsAreUniqueAndComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range All() {
		if seen[e.Name] {
			t.Errorf("%s: two experiments have this name", e.Name)
		}
		seen[e.Name] = true
		for field, text := range map[string]string{"Paper": e.Paper, "Where": e.Where, "Title": e.Title, "Claim": e.Claim, "Differs": e.Differs} {
			if text == "" {
				t.Errorf("%s: no %s", e.Name, field)
			}
		}
		if !strings.HasPrefix(e.Name, strings.ToLower(strings.ReplaceAll(e.Paper, "-", ""))) {
			t.Errorf("%s: the name does not begin with that of the paper, %s", e.Name, e.Paper)
		}
	}
}

// The same seed gives the same report, whatever the number of cores.
func TestTheSameSeedGivesTheSameReport(t *testing.T) {
	for _, e := range All() {
		if e.Name != "stable-election" {
			continue
		}
		var texts [2]string
		for i := range texts {
			r, err := e.Run(t.Context(), Settings{Seed: 3, Quick: true})
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			r.Write(&b)
			texts[i] = b.String()
		}
		if texts[0] != texts[1] {
			t.Errorf("the reports differ:\n%s\n%s", texts[0], texts[1])
		}
	}
}

// The page shows every report, tells what fails, and escapes what it shows.
func TestPageShowsClaimsAndFailures(t *testing.T) {
	r := &Report{Name: "x-1", Paper: "X", Where: "Fig. 1", Title: "a <b> title", Claim: "it grows & grows", Differs: "not here", Seed: 7}
	r.check(true, "it grows", "by 2")
	r.table("Numbers:", "n", "time").add(3, 1.5)
	r.chart("Growth <fast>", "n", "ms", Curve{Name: "measured", Points: []Point{{1, 1}, {2, 2}}})
	var good, bad bytes.Buffer
	page := &Page{Version: "regent 1", Command: "regent lab all --seed 7", Date: "2026-01-02", Reports: []*Report{r}}
	if err := page.Write(&good); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a &lt;b&gt; title", "it grows &amp; grows", "not here", "All 1 checks hold", "<svg", "Growth &lt;fast&gt;", "regent lab x-1 --seed 7", "hardware of 1997"} {
		if !strings.Contains(good.String(), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	r.check(false, "it shrinks", "not at all")
	if err := page.Write(&bad); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(bad.String(), "1 of 2 checks fail") {
		t.Error("the page does not say that a check fails")
	}
}

func TestDocumentedExperimentsExist(t *testing.T) {
	known := map[string]bool{"all": true, "list": true}
	for _, e := range All() {
		known[e.Name] = true
	}
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`regent lab ([a-z]+[a-z0-9-]*)`).FindAllStringSubmatch(string(text), -1) {
			found++
			if !known[m[1]] {
				t.Errorf("%s: there is no experiment %s", file, m[1])
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d experiments are named on the pages", found)
	}
}

func TestLengthsAreWrittenWithoutPowersOfTen(t *testing.T) {
	for d, want := range map[time.Duration]string{561 * time.Microsecond: "0.561 ms", 371 * time.Millisecond: "371 ms", 999600 * time.Microsecond: "1 s",
		1124 * time.Millisecond: "1.12 s", 12400 * time.Millisecond: "12.4 s"} {
		if got := length(d); got != want {
			t.Errorf("%d ns: %q, want %q", d, got, want)
		}
	}
	c := &Chart{Title: "Rounds", X: "rounds", Y: "rounds", LogX: true, Curves: []Curve{{Name: "measured", Points: []Point{{100, 1}, {30_000, 2}}}}}
	var svg bytes.Buffer
	if err := c.WriteSVG(&svg); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(svg.String(), ">30000<") {
		t.Error("the axis does not name 30000 rounds")
	}
}
