package fault

import (
	"strings"
	"testing"
	"time"
)

// cuts draws who can hear whom, one row for each member.
func cuts(b *Links) string {
	var rows []string
	for i := range b.names {
		row := ""
		for j := range b.names {
			switch {
			case i == j:
				row += "-"
			case b.Link(i, j).Cut:
				row += "x"
			default:
				row += "."
			}
		}
		rows = append(rows, row)
	}
	return strings.Join(rows, " ")
}

func TestLinksLanguage(t *testing.T) {
	b := NewLinks("a", "b", "c")
	for _, c := range []struct{ line, want string }{
		{"", "-.. .-. ..-"},
		{"cut a b", "-x. .-. ..-"},
		{"cut c * both", "-xx .-x xx-"},
		{"heal a b", "-.x .-x xx-"},
		{"heal * c", "-.. .-. xx-"},
		{"heal", "-.. .-. ..-"},
		{"partition a b / c", "-.x .-x xx-"},
		{"partition b c", "-xx x-. x.-"},
		{"heal", "-.. .-. ..-"},
		{"link * * delay=3ms", "-.. .-. ..-"},
		{"link a b drop=0.5 both", "-.. .-. ..-"},
		{"link b c perfect", "-.. .-. ..-"},
	} {
		if text, err := b.Do(c.line); err != nil || text != "" {
			t.Fatalf("%q: %q, %v", c.line, text, err)
		}
		if got := cuts(b); got != c.want {
			t.Errorf("after %q: %s, want %s", c.line, got, c.want)
		}
	}
	if l := b.Link(0, 1); l != (Link{Delay: 3 * time.Millisecond, Drop: 0.5}) {
		t.Errorf("a to b is %v", l)
	}
	text, err := b.Do("show")
	if err != nil || strings.Count(text, "\n") != 5 || !strings.Contains(text, "link b a perfect delay=3ms drop=0.5\n") {
		t.Errorf("show: %q, %v", text, err)
	}
	again := NewLinks("a", "b", "c")
	for line := range strings.Lines(text) {
		if _, err := again.Do(line); err != nil {
			t.Fatal(err)
		}
	}
	if again.String() != b.String() {
		t.Errorf("what is shown cannot be said: %s", again)
	}
}

func TestLinksRefuseWhatItDoesNotKnow(t *testing.T) {
	b := NewLinks("a", "b")
	for _, line := range []string{"cut", "cut a", "cut a z", "cut a b c", "link a b speed=9", "link z a", "partition a a", "partition z", "dance a b", "show all", "link * b drop=7"} {
		before := b.String()
		if _, err := b.Do(line); err == nil {
			t.Errorf("%q was done", line)
		}
		if b.String() != before {
			t.Errorf("%q was refused and changed %s to %s", line, before, b)
		}
	}
}

func FuzzLinksDo(f *testing.F) {
	for _, line := range []string{"cut a b", "link * * delay=1ms both", "partition a / b", "heal", "show", "", "dance", "cut a", "cut a z", "link a b speed=9", "partition a a", "heal a b", "heal *", "show all",
		"link a b delay=1ms jitter=1ms drop=0.5 duplicate=0.5 reorder=0.5 late=1s cut=true both", "link a b perfect", "link a b drop=7", "link a b cut=x"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		b := NewLinks("a", "b")
		if _, err := b.Do(line); err != nil {
			return
		}
		for i := range 2 {
			if b.Link(i, i) != (Link{}) || b.Link(i, 1-i).Check() != nil {
				t.Fatalf("after %q: %s", line, b)
			}
		}
	})
}
