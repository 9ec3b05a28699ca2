package candidate

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster/journal"
)

// A candidate reports once what it believes at its first look after a pause, and when it ceases to believe it; each leadership has an entry of its own.
func TestLooks(t *testing.T) {
	dir := t.TempDir()
	p, err := New(dir, "a")
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	p.out = &said
	leads := false
	p.belief = Belief{Leads: func() bool { return leads }}
	l := look{last: journal.Now()}
	after := func(pause time.Duration, led bool) {
		leads = led
		l.last = l.last.Add(-pause) // as if it had not run for so long
		l.once(p)
	}
	after(0, false)
	p.Led(7)
	after(0, true)
	after(0, true)
	after(time.Second, true)
	after(0, true)
	after(0, false)
	p.Led(8) // lost and led again between two looks would be one term later
	after(0, true)
	p.Led(9)
	after(0, true)
	after(time.Second, false)
	got := regexp.MustCompile(` \d+`).ReplaceAllString(said.String(), "")
	if want := "leads\nwoke true\nceased\nleads\nleads\nwoke false\n"; got != want {
		t.Errorf("it said\n%s\nwant\n%s", got, want)
	}
	spans, err := journal.Read(dir)
	if err != nil || len(spans) != 3 || spans[0].Token != 7 || spans[1].Token != 8 || spans[2].Token != 9 || spans[0].Until == 0 || spans[0].Group != Group {
		t.Errorf("%+v, %v", spans, err)
	}
}

func TestQuantile(t *testing.T) {
	all := []time.Duration{5, 1, 4, 2, 3}
	if quantile(all, 0.5) != 3 || quantile(all, 1) != 5 || quantile(all, 0) != 1 || quantile(nil, 0.5) != 0 {
		t.Errorf("%v", quantile(all, 0.5))
	}
}
