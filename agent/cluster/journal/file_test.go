package journal

import (
	"os"
	"strings"
	"testing"
)

func TestJournalsAreReadAsTheyWereWritten(t *testing.T) {
	dir := t.TempDir()
	var want []Span
	yes, no := func() bool { return true }, func() bool { return false }
	for _, holder := range []string{"a", "p/1.x"} {
		j, err := Open(dir, holder)
		if err != nil {
			t.Fatal(err)
		}
		if j.Begin("never", 7).Observe(no) {
			t.Error("a lease that is over was seen valid")
		}
		e := j.Begin("g", 8)
		for range 3 {
			if !e.Observe(yes) {
				t.Error("a valid lease was seen to be over")
			}
		}
		if s := e.Span(); s.Since == 0 || s.Seen < s.Since || s.Holder != holder {
			t.Errorf("observed: %+v", s)
		}
		want = append(want, e.Span())
		l := j.BeginLocal("g", []string{"a", "b", "c"})
		l.Observe(yes)
		l.Supported([]string{"c", "a", "d"})
		l.Supported([]string{"a", "b", "c"})
		l.End(strings.Repeat("because ", 100))
		l.End("of something else")
		s := l.Span()
		if strings.Join(s.Support, " ") != "a c" || s.Until < s.Seen {
			t.Errorf("a local leader: %+v", s)
		}
		want = append(want, s)
		if err := l.Err(); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("read %+v, want %+v", got, want)
	}
	for i := range want {
		g, w := got[i], want[i]
		if !strings.HasPrefix(w.Cause, g.Cause) || (g.Cause == "") != (w.Cause == "") || strings.Join(g.Support, " ") != strings.Join(w.Support, " ") {
			t.Errorf("read %+v, want %+v", g, w)
		}
		g.Cause, w.Cause, g.Support, w.Support = "", "", nil, nil
		if g.String() != w.String() || g.Group != w.Group || g.Pid != w.Pid || g.Pid != os.Getpid() || g.Since != w.Since || g.Seen != w.Seen || g.Until != w.Until || g.Local != w.Local {
			t.Errorf("read %+v, want %+v", g, w)
		}
	}
}

// What is written down is certain: the lease was valid at some instant within each question.
func TestAnswersBoundALeadershipFromWithin(t *testing.T) {
	var none *Journal
	e := none.Begin("g", 1)
	var first, last Time
	e.Observe(func() bool { first = Now(); return true })
	if s := e.Span(); s.Since < first || s.Seen != s.Since {
		t.Errorf("one answer, at %d: %+v", first, s)
	}
	e.Observe(func() bool { last = Now(); return true })
	if s := e.Span(); s.Seen > last || s.Seen < s.Since {
		t.Errorf("two answers, the last at %d: %+v", last, s)
	}
	before := e.Span()
	e.Observe(func() bool { return false })
	if s := e.Span(); s.Seen != before.Seen {
		t.Errorf("an answer of no has changed %+v to %+v", before, s)
	}
}
