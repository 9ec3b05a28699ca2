package regent

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol/hall"
)

// docs/hall.md has the constants of local groups in every profile; this says what they are.
func TestConstantsOfLocalGroupsAreThoseOnThePage(t *testing.T) {
	page, err := os.ReadFile("docs/hall.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name string
		of   func(h *hall.Timing) time.Duration
	}{
		{"Δ `Delta`", func(h *hall.Timing) time.Duration { return h.Delta }},
		{"δ `OneWay`", func(h *hall.Timing) time.Duration { return h.OneWay }},
		{"σ `Sched`", func(h *hall.Timing) time.Duration { return h.Sched }},
		{"R `Renew`", func(h *hall.Timing) time.Duration { return h.Renew }},
		{"EP `Period`", func(h *hall.Timing) time.Duration { return h.Period }},
		{"`Lock`", func(h *hall.Timing) time.Duration { return h.Lock }},
		{"`Expires`", func(h *hall.Timing) time.Duration { return h.Expires }},
		{"κ", func(h *hall.Timing) time.Duration { return h.Kappa(directRound) }},
	} {
		end := " |"
		for _, p := range []Timing{Fast, LAN, WAN} {
			h := p.local()
			end += " " + onPage(row.of(&h)) + " |"
		}
		if !hasRow(string(page), "| "+row.name+" |", end) {
			t.Errorf("docs/hall.md: the row of %s must end with %s", row.name, end)
		}
	}
}

var unit = regexp.MustCompile(`[a-z]+$`)

// onPage shows three digits or so, and the unit apart from them.
func onPage(d time.Duration) string {
	to := time.Millisecond
	switch {
	case d < 10*time.Millisecond:
		to /= 10
	case d >= time.Second:
		to *= 10
	}
	return unit.ReplaceAllString(d.Round(to).String(), " $0")
}

func hasRow(page, begin, end string) bool {
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, begin) && strings.HasSuffix(line, end) {
			return true
		}
	}
	return false
}
