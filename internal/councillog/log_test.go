package councillog

import (
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/roster"
)

// councilOf makes a council of voters, and of those with a role: o=observer.
func councilOf(names ...string) *roster.Council {
	c := &roster.Council{}
	for _, name := range names {
		name, role, _ := strings.Cut(name, "=")
		c.Members = append(c.Members, roster.Member{Peer: roster.Peer{Name: name, Observer: role == "observer"}})
	}
	return c
}

// numbered makes a settled council with a number.
func numbered(n uint64, names ...string) *roster.Council {
	c := councilOf(names...)
	c.Number, c.Settled = n, true
	return c
}

// under makes a council in which a change is running.
func under(n uint64, phase roster.Phase, goal []string, names ...string) *roster.Council {
	c := numbered(n, names...)
	c.Settled, c.Phase, c.By = phase != roster.Settling, phase, "b"
	for _, m := range councilOf(goal...).Members {
		c.Goal = append(c.Goal, m.Peer)
	}
	return c
}

// One change of the council is one entry, however many steps it takes, with what became of it.
func TestAChangeOfTheCouncilIsOneEntry(t *testing.T) {
	abc, abd := []string{"a", "b", "c"}, []string{"a", "b", "d"}
	asked := numbered(0, abc...)
	asked.Phase = roster.Agreeing
	out := numbered(3, abd...)
	out.Removed = true
	came := under(1, roster.Learning, abd, "a", "b", "c", "d=observer")
	came.Members[3].New = true
	for name, c := range map[string]struct {
		seen []*roster.Council
		want string
	}{
		"nothing":          {[]*roster.Council{numbered(0, abc...), numbered(0, abc...)}, ""},
		"refused":          {[]*roster.Council{numbered(0, abc...), asked, numbered(0, abc...)}, ""},
		"replaced":         {[]*roster.Council{numbered(0, abc...), asked, under(1, roster.Settling, abd, "a", "b", "c", "d=observer"), under(2, roster.Agreeing, abd, "a", "b", "c", "d"), numbered(4, abd...)}, "member d added, member c removed, number 4, took 3s, asked for at b"},
		"steps are missed": {[]*roster.Council{numbered(0, abc...), numbered(4, abd...)}, "member d added, member c removed, number 4"},
		"cancelled":        {[]*roster.Council{numbered(0, abc...), under(1, roster.Learning, abd, abc...), numbered(2, abc...)}, "change cancelled, number 2, took 1s, asked for at b"},
		"cancelled half":   {[]*roster.Council{numbered(0, abc...), under(2, roster.HandingOver, abd, "a", "b", "c", "d"), numbered(3, "a", "b", "c", "d")}, "change cancelled: member d added, number 3, took 1s, asked for at b"},
		"removed here":     {[]*roster.Council{numbered(0, abc...), under(1, roster.Agreeing, abd, abc...), out}, "this member removed, number 3, took 1s, asked for at b"},
		"a newcomer's":     {[]*roster.Council{came, numbered(4, abd...)}, "member d added, member c removed, number 4, took 1s, asked for at b"},
		"two":              {[]*roster.Council{numbered(0, "a"), numbered(1, "a", "b"), under(2, roster.Settling, abc, "a", "b"), numbered(4, abc...)}, "member b added, number 1; member c added, number 4, took 1s, asked for at b"},
	} {
		var track Track
		var got []string
		for i, s := range c.seen {
			if x := track.See(time.Unix(int64(i), 0), s); x != nil {
				got = append(got, x.String())
			}
		}
		if all := strings.Join(got, "; "); all != c.want {
			t.Errorf("%s:  %s\nwant %s", name, all, c.want)
		}
	}
}
