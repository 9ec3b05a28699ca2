package browser_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/view"
)

// collisions are texts of the picture that cover one another, or leave it.
const collisions = `(() => {
	const all = [...document.querySelectorAll('#picture text')].filter(t => t.textContent && getComputedStyle(t).display !== 'none' && t.getBoundingClientRect().width > 0 &&
		!t.closest('.local'));
	const box = document.getElementById('picture').getBoundingClientRect();
	const out = [];
	all.forEach((t, i) => {
		const a = t.getBoundingClientRect();
		if (a.left < box.left - 1 || a.right > box.right + 1 || a.top < box.top - 1 || a.bottom > box.bottom + 1) out.push(t.textContent + ' leaves the picture');
		all.slice(i + 1).forEach(u => {
			const b = u.getBoundingClientRect();
			if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2) out.push(t.textContent + ' covers ' + u.textContent);
		});
	});
	return out;
})()`

// Long names do not cover one another, on a screen and on a telephone, and the page is no wider than either.
func TestLabelsDoNotCollideInTheBrowser(t *testing.T) {
	store := web.NewStore(func() time.Duration { return time.Minute })
	server, err := web.Serve("127.0.0.1:0", web.Handler(store, web.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	show := func(members int) {
		st := &web.State{About: web.About{Kind: "demo", Began: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMilli()}}
		long := "database-primary-of-the-northern-region"
		g := web.Group{Name: long, Mode: web.Quorum, Cause: "elected"}
		for i := range members {
			name := fmt.Sprintf("host-%d.frankfurt.example", i)
			st.Members = append(st.Members, web.Member{Name: name, State: web.Up})
			g.Views = append(g.Views, view.MemberView{Member: name, Answered: true, Leader: "host-0.frankfurt.example"})
			if i > 0 {
				st.Links = append(st.Links, web.Link{From: name, To: st.Members[0].Name, State: web.Fast, Bound: time.Millisecond})
			}
		}
		g.Leaders = []web.Leader{{Member: st.Members[0].Name, Token: 4, Until: time.Hour, Lease: time.Hour}}
		st.Groups = []web.Group{g, {Name: "beside", Mode: web.Local}}
		st.Tenures = []web.Tenure{{ID: "1", Group: long, Mode: web.Quorum, Member: st.Members[0].Name, From: time.Second}}
		store.Replace(st)
	}
	show(3)
	p := open(t, server.URL)
	for _, members := range []int{3, 5, 9} {
		show(members)
		p.until(fmt.Sprintf(`document.querySelectorAll('.node').length === %d`, members))
		for _, width := range []int64{1280, 400} {
			p.do(size(width, 900, width == 400))
			p.until(fmt.Sprintf(`innerWidth === %d && document.documentElement.scrollWidth <= %d`, width, width))
			p.until(collisions + `.length === 0`)
		}
	}
	p.accessible("nine members with long names, on a telephone, dark")
	// Other modes are behind tabs, with a sentence each.
	p.do(size(1280, 900, false))
	p.until(`[...document.querySelectorAll('#modes [role=tab]')].map(b => b.textContent).join() === 'quorum 1,local 1' && document.getElementById('mode-says').textContent.startsWith('At most one')`)
	p.click(`#modes [data-mode="local"]`)
	p.until(`document.getElementById('mode-says').textContent.startsWith('Each part') && document.getElementById('headline').textContent === 'No member leads beside.'`)
}
