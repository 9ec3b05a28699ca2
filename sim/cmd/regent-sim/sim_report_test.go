package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

func TestProgressIsToldNowAndThenAndOnATerminalInOneLine(t *testing.T) {
	var out bytes.Buffer
	c := &cobra.Command{}
	c.SetErr(&out)
	p := newProgress(c, "rank, 5 members")
	p.show(1, 100)
	if out.Len() != 0 {
		t.Errorf("a run that has just begun says %q", out.String())
	}
	p.began, p.last = time.Now().Add(-20*time.Second), time.Now().Add(-11*time.Second)
	p.show(50, 100)
	p.show(51, 100)
	if want := "rank, 5 members: 50 of 100 seeds, about 20s left\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	out.Reset()
	p.tty = true
	p.last = time.Now().Add(-time.Second)
	p.show(60, 100)
	p.end()
	if got := out.String(); strings.Contains(got, "\n") || !strings.HasPrefix(got, "\r") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("on a terminal: %q, want one line that is cleared at the end", got)
	}
}

func TestSpansAreReadWithBothEnds(t *testing.T) {
	for _, c := range []struct {
		text   string
		lo, hi uint64
		ok     bool
	}{
		{"1..10", 1, 10, true}, {"7", 7, 7, true}, {"7..7", 7, 7, true}, {"0..18446744073709551615", 0, 1<<64 - 1, true},
		{"", 0, 0, false}, {"3..", 0, 0, false}, {"..3", 0, 0, false}, {"4..3", 0, 0, false}, {"-1..3", 0, 0, false}, {"1-3", 0, 0, false},
	} {
		lo, hi, err := span(c.text)
		if lo != c.lo || hi != c.hi || (err == nil) != c.ok {
			t.Errorf("%q: %d, %d, %v", c.text, lo, hi, err)
		}
	}
}
