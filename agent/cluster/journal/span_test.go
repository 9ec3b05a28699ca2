package journal

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const second = Time(time.Second)

func TestCheckFindsTwoLeadersTokensThatDoNotGrowAndGaps(t *testing.T) {
	span := func(holder string, token uint64, since, seen Time) Span {
		return Span{Group: "g", Holder: holder, Token: token, Since: since * second, Seen: seen * second}
	}
	local := func(holder string, since, seen Time, support ...string) Span {
		s := span(holder, 0, since, seen)
		s.Local, s.Support = true, support
		return s
	}
	elsewhere := span("z", 1, 0, 10)
	elsewhere.Group = "h"
	gap := Rules{Gap: 2 * time.Second, From: 1 * second, To: 12 * second}
	for name, c := range map[string]struct {
		spans []Span
		rules Rules
		want  []string
	}{
		"nothing":              {nil, Rules{}, nil},
		"one after the other":  {[]Span{span("a", 1, 0, 5), span("b", 2, 5, 9)}, Rules{}, nil},
		"in any order":         {[]Span{span("b", 2, 6, 9), span("a", 1, 0, 5)}, Rules{}, nil},
		"in two groups":        {[]Span{span("a", 3, 0, 10), elsewhere}, Rules{}, nil},
		"two at once":          {[]Span{span("a", 1, 0, 6), span("b", 2, 5, 9)}, Rules{}, []string{"group g: a (token 1) and b (token 2) both led for 1s"}},
		"one within another":   {[]Span{span("a", 1, 0, 9), span("b", 2, 2, 3), span("c", 3, 6, 8)}, Rules{}, []string{"a (token 1) and b (token 2) both led for 1s", "a (token 1) and c (token 3) both led for 2s"}},
		"not only neighbours":  {[]Span{span("a", 1, 0, 9), span("b", 2, 1, 2), span("c", 3, 8, 9)}, Rules{}, []string{"a (token 1) and b", "a (token 1) and c (token 3) both led for 1s"}},
		"one holder twice":     {[]Span{span("a", 1, 0, 6), span("a", 2, 5, 9)}, Rules{}, []string{"a (token 1) and a (token 2) both led for 1s"}},
		"a token that falls":   {[]Span{span("a", 2, 0, 4), span("b", 1, 5, 9)}, Rules{}, []string{"b (token 1) led after a (token 2): the token does not grow"}},
		"a token used twice":   {[]Span{span("a", 2, 0, 4), span("b", 2, 5, 9)}, Rules{}, []string{"b (token 2) led after a (token 2)"}},
		"not only the last":    {[]Span{span("a", 5, 0, 1), span("b", 0, 2, 3), span("c", 4, 5, 9)}, Rules{}, []string{"c (token 4) led after a (token 5)"}},
		"processes of one":     {[]Span{span("a", 1, 0, 4), span("a", 1, 1, 6), span("b", 2, 5, 9)}, Rules{}, []string{"a (token 1) and b (token 2) both led for 1s"}},
		"local, apart":         {[]Span{local("a", 0, 6, "a", "b"), local("c", 1, 9, "c")}, Rules{Together: LocalApart}, nil},
		"local, in common":     {[]Span{local("a", 0, 6, "a", "b"), local("c", 1, 9, "b", "c")}, Rules{Together: LocalApart}, []string{"a and c both led for 5s"}},
		"local, beside":        {[]Span{local("a", 0, 6, "a"), span("a", 3, 2, 9)}, Rules{Together: LocalApart}, nil},
		"quorum, apart":        {[]Span{span("a", 1, 0, 6), span("b", 2, 5, 9)}, Rules{Together: LocalApart}, []string{"both led for 1s"}},
		"no gap":               {[]Span{span("a", 0, 0, 5), span("b", 0, 7, 11)}, gap, nil},
		"a gap":                {[]Span{span("a", 0, 0, 4), span("b", 0, 7, 11)}, gap, []string{`group g: no leader for 3s, between "a" and "b"`}},
		"a gap at the end":     {[]Span{span("a", 0, 0, 9)}, gap, []string{`no leader for 3s, between "a" and "the end"`}},
		"a gap at the start":   {[]Span{span("a", 0, 4, 12)}, gap, []string{`no leader for 3s, between "" and "a"`}},
		"gaps before it count": {[]Span{span("z", 0, -9, -8), span("a", 0, 4, 12)}, gap, []string{`no leader for 3s, between "" and "a"`}},
	} {
		t.Run(name, func(t *testing.T) {
			rep, err := Check(c.spans, c.rules)
			text := ""
			if err != nil {
				text = err.Error()
			}
			lines := slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool { return l == "" })
			if len(lines) != len(c.want) {
				t.Fatalf("found %q, want %q", lines, c.want)
			}
			for i, want := range c.want {
				if !strings.Contains(lines[i], want) {
					t.Errorf("found %q, want %q", lines[i], want)
				}
			}
			if strings.Contains(text, "both led") != (rep.Both > 0) {
				t.Errorf("both: %v", rep.Both)
			}
		})
	}
	rep, _ := Check([]Span{local("a", 0, 6, "a"), local("c", 1, 9, "c")}, Rules{Together: LocalApart})
	if rep.Allowed != 1 || rep.Both != 0 {
		t.Errorf("%d pairs were allowed, both %v", rep.Allowed, rep.Both)
	}
}
