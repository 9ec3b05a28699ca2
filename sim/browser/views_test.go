package browser_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/view"
)

// What members say of a group is put together in the words of its mode, and no member's word is taken for that of another.
func TestMembersSpeakInTheWordsOfTheirModeInTheBrowser(t *testing.T) {
	said := func(member, leader string, token, agreement uint64, support ...string) view.MemberView {
		return view.MemberView{Member: member, Answered: true, Leader: leader, Token: token, Agreement: agreement, Support: support}
	}
	cases := []struct {
		mode  web.Mode
		views []view.MemberView
		want  string
	}{
		{web.Quorum, []view.MemberView{said("a", "a", 4, 0), said("b", "a", 4, 0), said("c", "a", 4, 0)}, "3 of 3 agree: a leads."},
		{web.Quorum, []view.MemberView{said("a", "a", 4, 0), said("b", "b", 5, 0), said("c", "b", 5, 0)}, "2 of 3 agree: b leads. a says: a leads."},
		{web.Quorum, []view.MemberView{said("a", "a", 4, 0), said("b", "a", 3, 0)}, "1 of 3 says: a leads. b says: a leads, with token 3. c does not answer."},
		{web.Quorum, []view.MemberView{said("a", "", 0, 0), said("b", "", 0, 0), said("c", "a", 4, 0)}, "2 of 3 agree: no member leads. c says: a leads."},
		{web.Local, []view.MemberView{said("a", "a", 0, 0, "a", "b", "c"), said("b", "a", 0, 0, "a", "b", "c"), said("c", "a", 0, 0, "a", "b", "c")}, "All 3 are in one part: a leads it."},
		{web.Local, []view.MemberView{said("a", "a", 0, 0, "a", "b"), said("b", "a", 0, 0, "a", "b"), said("c", "c", 0, 0, "c")}, "a, b say: a leads our part (a, b). c says: c leads our part (c)."},
		{web.Local, []view.MemberView{said("a", "a", 0, 0, "a"), said("b", "", 0, 0)}, "a says: a leads our part (a). b says: no member leads our part. c does not answer, and may be in another part."},
		{web.Eventual, []view.MemberView{said("a", "a", 0, 0), said("b", "a", 0, 0), said("c", "c", 0, 0)}, "2 of 3 trust a. c trusts c."},
		{web.Eventual, []view.MemberView{said("a", "a", 0, 0), said("b", "a", 0, 0), said("c", "a", 0, 0)}, "3 of 3 trust a."},
		{web.Consistent, []view.MemberView{said("a", "a", 2, 7, "a", "b"), said("b", "a", 2, 7, "a", "b"), said("c", "", 0, 0)},
			"2 of 3 agree: the members are a, b, and a manages. c is no member of the group."},
		{web.Consistent, []view.MemberView{said("a", "a", 2, 8, "a", "b"), said("b", "a", 2, 7, "a", "b", "c"), said("c", "a", 2, 7, "a", "b", "c")},
			"2 of 3 agree: the members are a, b, c, and a manages. a says: the members are a, b, and a manages."},
	}
	store := web.NewStore(func() time.Duration { return time.Minute })
	server, err := web.Serve("127.0.0.1:0", web.Handler(store, web.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	p := open(t, server.URL)
	for i, c := range cases {
		st := &web.State{About: web.About{Kind: "demo"}, Members: []web.Member{{Name: "a", State: web.Up}, {Name: "b", State: web.Up}, {Name: "c", State: web.Up}}}
		st.Groups = []web.Group{{Name: fmt.Sprint("g", i), Mode: c.mode, Views: c.views}}
		store.Replace(st)
		p.until(fmt.Sprintf(`document.getElementById('agreement-text').textContent === %q`, c.want))
	}
	p.accessible("members that say different things")
}
