package core

import (
	"strings"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/roster"
)

// councilOf makes a council of voters, and of those with a role: w=witness, o=observer.
func councilOf(names ...string) *roster.Council {
	c := &roster.Council{}
	for _, name := range names {
		name, role, _ := strings.Cut(name, "=")
		c.Members = append(c.Members, roster.Member{Peer: regent.Peer{Name: name, Witness: role == "witness", Observer: role == "observer"}})
	}
	return c
}

func TestChangesThatLeaveTooLittleAreRefused(t *testing.T) {
	add := func(names ...string) (out []regent.Peer) {
		for _, n := range names {
			out = append(out, regent.Peer{Name: n})
		}
		return out
	}
	for name, c := range map[string]struct {
		now     *roster.Council
		change  roster.Change
		yes     bool
		refused string
	}{
		"nothing":                   {councilOf("a"), roster.Change{}, false, "nothing to change"},
		"cancel and more":           {councilOf("a"), roster.Change{Cancel: true, Remove: []string{"a"}}, false, "choose one"},
		"cancel":                    {councilOf("a"), roster.Change{Cancel: true}, false, ""},
		"everybody":                 {councilOf("a", "b"), roster.Change{Remove: []string{"a", "b"}}, true, "no member would be left"},
		"all that may lead":         {councilOf("a", "b=witness", "c=witness"), roster.Change{Remove: []string{"a"}}, true, "no member that may lead"},
		"only observers are left":   {councilOf("a", "o=observer"), roster.Change{Remove: []string{"a"}}, true, "no member that may lead"},
		"two are left":              {councilOf("a", "b", "c"), roster.Change{Remove: []string{"c"}}, false, "tolerate no failure"},
		"two are left, confirmed":   {councilOf("a", "b", "c"), roster.Change{Remove: []string{"c"}}, true, ""},
		"one of two":                {councilOf("a", "b"), roster.Change{Remove: []string{"b"}}, false, ""},
		"four":                      {councilOf("a", "b", "c"), roster.Change{Add: add("d")}, false, ""},
		"five":                      {councilOf("a", "b", "c"), roster.Change{Add: add("d", "e")}, false, ""},
		"replaced":                  {councilOf("a", "b", "c"), roster.Change{Add: add("d"), Remove: []string{"c"}}, false, ""},
		"replaced under its name":   {councilOf("a", "b", "c"), roster.Change{Add: add("c")}, false, ""},
		"observer":                  {councilOf("a", "b", "c"), roster.Change{Add: []regent.Peer{{Name: "o", Observer: true}}}, false, ""},
		"a voter becomes observer":  {councilOf("a", "b", "c"), roster.Change{Set: []regent.Peer{{Name: "c", Observer: true}}}, false, "tolerate no failure"},
		"the last leader a witness": {councilOf("a", "b=witness"), roster.Change{Set: []regent.Peer{{Name: "a", Witness: true}}}, true, "no member that may lead"},
	} {
		err := judgeChange(c.now, &c.change, c.yes)
		if got := err != nil; got != (c.refused != "") || got && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v, want %q", name, err, c.refused)
		}
	}
}
