package config

import (
	"strings"
	"testing"
	"time"
)

// bomb is a document of 30 lines whose aliases stand for 2^n texts.
func bomb(n int) string {
	var b strings.Builder
	b.WriteString(three + "tags:\n  a0: &a0 [x, x]\n")
	for i := 1; i <= n; i++ {
		at := string(rune('0'+i/10)) + string(rune('0'+i%10))
		before := string(rune('0'+(i-1)/10)) + string(rune('0'+(i-1)%10))
		if i == 1 {
			before = "0"
		}
		b.WriteString("  a" + at + ": &a" + at + " [*a" + before + ", *a" + before + "]\n")
	}
	return b.String()
}

func TestDeepNestingIsRefusedAtOnce(t *testing.T) {
	for _, open := range []string{"[", "{a: "} {
		start := time.Now()
		if _, err := Parse("regent.yaml", []byte(three+"tags: "+strings.Repeat(open, 200_000))); err == nil || !strings.Contains(err.Error(), "at most 100") {
			t.Errorf("not refused: %v", err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
	}
}

func TestAliasesAreRefusedAtOnce(t *testing.T) {
	for name, text := range map[string]string{
		"nested aliases in tags": bomb(29),
		"an anchor alone":        three + "tags: {a: &x y}\n",
		"an alias in a key":      three + "tags: {a: y, ? &k b : c}\n",
		"a merge in tags":        three + "tags:\n  <<: {a: b}\n",
		"a tag of YAML's":        three + "tags: {a: !!str y}\n",
		"a merge at the top":     three + "<<: {log: debug}\n",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := Parse("regent.yaml", []byte(text))
			if err == nil || !strings.Contains(err.Error(), "write the value out") {
				t.Errorf("not refused: %v", err)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}
