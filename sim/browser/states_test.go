package browser_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/sim/effort"
	"github.com/regentproject/regent/view"
)

// A scene is a state in which a person may find the page.
type scene struct {
	name    string
	state   *web.State
	session api.PageSession
	// views are what members say of the group that is shown.
	views []view.MemberView
	// do is what the person does first, in JavaScript, and until when the page is as it should be.
	do, until string
}

// council3 is an agent's page of three members, all links of which are known.
func council3(change func(*web.State)) *web.State {
	st := &web.State{About: web.About{Kind: "agent", Title: "agent of a", Self: "a", Polls: true, Began: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMilli(),
		Council: &web.Council{Number: 3, Settled: true}, Actions: []web.Action{{Verb: "resign", On: "group", Label: "Resign", Key: "g", Grave: true, Confirm: "Ask the program that leads {what} to stop?"},
			{Verb: "transfer", On: "group", Label: "Hand over to"}, {Verb: "drain", On: "member", Label: "Drain", If: []string{"undrained"}, Grave: true, Confirm: "Drain {what}?"},
			{Verb: "undrain", On: "member", Label: "Undrain", If: []string{"drained"}}}}}
	for _, name := range []string{"a", "b", "c"} {
		st.Members = append(st.Members, web.Member{Name: name, State: web.Up, Tells: true, Key: "x7az-v6gr", Pauses: &web.Pauses{Median: 240 * time.Microsecond, P99: 7 * time.Millisecond,
			Longest: 25 * time.Millisecond, Survives: 1900 * time.Millisecond, Day: 25 * time.Millisecond, DayAt: 1772366400000, Rungs: []web.Rung{{Upper: time.Millisecond, Count: 340, Share: 1}, {Upper: 30 * time.Millisecond, Count: 12, Share: .3}}}})
		for _, from := range []string{"a", "b", "c"} {
			if from != name {
				st.Links = append(st.Links, web.Link{From: from, To: name, State: web.Fast, Bound: 420 * time.Microsecond, RoundTrip: 300 * time.Microsecond})
			}
		}
	}
	st.Groups = []web.Group{{Name: "billing", Mode: web.Quorum, Cause: "elected a", Changed: 20 * time.Second, Changes: 3,
		Leaders: []web.Leader{{Member: "a", Token: 41, Since: 20 * time.Second, Until: time.Hour, Lease: time.Hour}}}, {Name: "mail", Mode: web.Quorum, Cause: "lease expired c", Changed: 5 * time.Second}}
	st.Tenures = []web.Tenure{{ID: "1", Group: "billing", Mode: web.Quorum, Member: "b", Token: 40, From: 3 * time.Second, To: 19 * time.Second, Cause: "suspected b"},
		{ID: "2", Group: "billing", Mode: web.Quorum, Member: "a", Token: 41, From: 20 * time.Second}}
	st.Log = []web.Entry{{ID: 1, At: 3 * time.Second, Member: "b", Group: "billing", Text: "b leads, as first seen here", Tone: "good"},
		{ID: 2, At: 20 * time.Second, Member: "a", Text: "b fell silent; a leads after 31 ms (212 groups: billing, cache, mail and 209 more)", Groups: []string{"billing"}, Tone: "good"}}
	if change != nil {
		change(st)
	}
	return st
}

func says(member, leader string, token uint64, support ...string) view.MemberView {
	return view.MemberView{Member: member, Answered: true, Leader: leader, Token: token, Support: support}
}

// other makes the page one of a group of another mode.
func other(mode web.Mode, leaders ...web.Leader) *web.State {
	return council3(func(st *web.State) {
		st.Groups = append(st.Groups, web.Group{Name: "cache", Mode: mode, Cause: "elected", Changed: time.Second, Leaders: leaders})
	})
}

var (
	operator = api.PageSession{Who: "uid 1000", CanLogIn: true, MayLook: true, MayOrder: true, Key: "k"}
	agree    = []view.MemberView{says("a", "a", 41), says("b", "a", 41), says("c", "a", 41)}
	pickA    = `location.hash = '#/quorum/billing/member/a'`
)

func scenes() []scene {
	stranger := api.PageSession{CanLogIn: true, Reason: "You are not logged in."}
	return []scene{
		{name: "all is well", session: operator, state: council3(nil), views: agree, until: `document.getElementById('agreement-text').textContent === '3 of 3 agree: a leads.'`},
		{name: "no group yet", session: operator, state: council3(func(st *web.State) { st.Groups, st.Tenures, st.Log = nil, nil, nil }), until: `document.getElementById('headline').textContent.startsWith('No program')`},
		{name: "an agent that waits", session: operator, state: &web.State{About: web.About{Kind: "agent", Title: "agent of a", Self: "a", Polls: true}, Members: []web.Member{{Name: "a", State: web.Joining, Problem: "not heard yet: b, c"}}},
			until: `document.getElementById('headline').textContent === 'a does not take part yet: not heard yet: b, c.'`},
		{name: "no leader", session: operator, state: council3(func(st *web.State) { st.Groups[0].Leaders, st.Groups[0].Cause = nil, "no quorum (for 1s)" }), views: []view.MemberView{says("a", "", 0), says("b", "", 0), {Member: "c"}},
			until: `document.getElementById('headline').textContent === 'No member leads billing: no quorum (for 1s).'`},
		{name: "members differ", session: operator, state: council3(nil), views: []view.MemberView{says("a", "a", 41), says("b", "b", 42), says("c", "b", 42)},
			until: `document.getElementById('headline').textContent === 'a leads billing, as a sees it.' && document.querySelector('.node[data-member="b"] .how').textContent === 'says that it leads' &&
				document.querySelector('.node[data-member="a"] .how').textContent === 'leads, as a sees it'`},
		{name: "a split demonstration", session: operator, state: split(), until: `document.querySelectorAll('.field').length === 2`},
		{name: "a member is paused", session: operator, state: paused(), until: `document.querySelectorAll('.node.paused').length === 1`},
		{name: "a member is drained", session: operator, views: agree, state: council3(func(st *web.State) { st.Members[0].Drained = true }), do: pickA, until: `document.querySelector('#chosen button[data-verb="undrain"]') !== null`},
		{name: "an order is to be confirmed", session: operator, views: agree, state: council3(nil), do: pickA + `; const t = setInterval(() => { const b = document.querySelector('#chosen button[data-verb="drain"]:not([disabled])'); if (b) { clearInterval(t); b.click(); } }, 50)`,
			until: `document.getElementById('confirm').open`},
		{name: "a change of the council", session: operator, state: changing(), until: `document.querySelectorAll('#ribbon-marks li').length === 5`},
		{name: "a change that is blocked, after a council was given up", session: operator, state: blocked(), until: `document.getElementById('ribbon').dataset.blocked === 'yes'`},
		{name: "a silent member with a revoked key", session: operator, views: []view.MemberView{agree[0], agree[1], {Member: "c"}}, state: council3(func(st *web.State) {
			st.Members[2] = web.Member{Name: "c", State: web.Silent, Problem: "not heard for 2m0s", Key: "d5jx-tfnh", KeyProblem: "its key was revoked here"}
			st.Links = st.Links[:4]
		}), do: `location.hash = '#/quorum/billing/link/b/c'`, until: `[...document.querySelectorAll('#details-lines li')].some(l => l.textContent.startsWith('How c hears b is not known: c does not answer'))`},
		{name: "two parts of a local group", session: operator, state: other(web.Local, web.Leader{Member: "a", Local: true, Support: []string{"a", "b"}, Since: time.Second}),
			views: []view.MemberView{says("a", "a", 0, "a", "b"), says("b", "a", 0, "a", "b"), says("c", "c", 0, "c")}, do: `document.querySelector('#modes [data-mode="local"]').click()`,
			until: `document.getElementById('agreement-text').textContent === 'a, b say: a leads our part (a, b). c says: c leads our part (c).' && document.querySelectorAll('.field').length === 2`},
		{name: "an eventual group", session: operator, state: other(web.Eventual, web.Leader{Member: "a", Since: time.Second}), views: []view.MemberView{says("a", "a", 0), says("b", "a", 0), says("c", "c", 0)},
			do: `document.querySelector('#modes [data-mode="eventual"]').click()`, until: `document.getElementById('agreement-text').textContent === '2 of 3 trust a. c trusts c.'`},
		{name: "a consistent group of which the own member is none", session: operator, state: other(web.Consistent), views: []view.MemberView{says("a", "", 0), says("b", "b", 2, "b", "c"), says("c", "b", 2, "b", "c")},
			do: `document.querySelector('#modes [data-mode="consistent"]').click()`, until: `document.getElementById('agreement-text').textContent.endsWith('a is no member of the group.') && document.getElementById('headline').textContent === 'b manages cache.'`},
		{name: "a reader", session: api.PageSession{Who: "token looks", LoggedIn: true, CanLogIn: true, MayLook: true, Reason: "token looks has the role read: orders need the role write."}, state: council3(nil), views: agree,
			do: `location.hash = '#/quorum/billing'`, until: whyNot + `.startsWith('token looks has the role read')`},
		{name: "100,000 groups", session: operator, views: agree, state: council3(func(st *web.State) {
			for i := range 100_000 {
				g := st.Groups[0]
				g.Name = fmt.Sprintf("service-%06d", i)
				st.Groups = append(st.Groups, g)
			}
		}), until: `document.getElementById('groups-count').textContent === '100002' && document.querySelectorAll('.rows .row:not([hidden])').length > 5`},
		{name: "not logged in", session: stranger, state: council3(nil), until: `document.activeElement.id === 'token' && document.getElementById('clock').textContent === ''`},
		{name: "a login that is refused", session: stranger, state: council3(nil), do: `document.getElementById('token').value = 'x'; document.getElementById('login').requestSubmit()`,
			until: `document.getElementById('login-reason').textContent.startsWith('unknown bearer token')`},
		{name: "an agent without rights for this client", session: api.PageSession{Who: "token app", LoggedIn: true, CanLogIn: true,
			Reason: "token app: this shows all groups, and this client may not read all of them (rights, in the agent's configuration): ask about a group."}, state: council3(nil), until: `document.getElementById('login-reason').textContent.startsWith('token app')`},
		{name: "an agent without tokens", session: api.PageSession{Reason: "You are not known here, and the agent has no tokens to log in with: set http.tokens in its configuration."}, state: council3(nil),
			until: `document.getElementById('login-fields').hidden`},
	}
}

// split is a demonstration of which d and e are cut off together.
func split() *web.State {
	st := &web.State{About: web.About{Kind: "demo", Title: "5 real processes on this host"}}
	g := web.Group{Name: "billing", Mode: web.Quorum, Cause: "elected a", Leaders: []web.Leader{{Member: "a", Token: 5, Until: time.Hour, Lease: time.Hour, Support: []string{"a", "b", "c"}},
		{Member: "d", Local: true, Until: time.Hour, Lease: time.Hour, Support: []string{"d", "e"}}}}
	for i, to := range "abcde" {
		st.Members = append(st.Members, web.Member{Name: string(to), State: web.Up})
		v := says(string(to), "a", 5)
		if i > 2 {
			v = says(string(to), "", 0)
		}
		g.Views = append(g.Views, v)
		for j, from := range "abcde" {
			l := web.Link{From: string(from), To: string(to), State: web.Fast, Bound: time.Millisecond}
			if (i > 2) != (j > 2) {
				l.State, l.Bound, l.Made = web.Cut, 0, "cut"
			}
			if i != j {
				st.Links = append(st.Links, l)
			}
		}
	}
	st.Groups = []web.Group{g}
	return st
}

// paused is a demonstration of which the former leader is paused.
func paused() *web.State {
	st := split()
	st.Members[1].State = web.Paused
	st.Groups[0].Leaders = st.Groups[0].Leaders[:1]
	st.Groups[0].Leaders[0].Support = []string{"a", "c", "d", "e"}
	st.Groups[0].Views = append(st.Groups[0].Views[:1], st.Groups[0].Views[2:]...)
	return st
}

func blocked() *web.State {
	st := changing()
	st.About.Council.Blocked = true
	st.About.Council.GivenUp = "the council before this one was given up: leaders of then may still lead (regent recover --help)"
	st.About.Council.FileDiffers = "The list in the configuration of this agent differs: it has c, and not d."
	return st
}

// serve serves the page in the state, and returns where.
func (s *scene) serve(t *testing.T) string {
	t.Helper()
	store := web.NewStore(func() time.Duration { return time.Minute })
	store.Replace(s.state)
	mux := http.NewServeMux()
	mux.Handle("/", web.Handler(store, web.Options{}))
	answer := func(path string, status int, body any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(body)
		})
	}
	answer("GET /api/session", 200, s.session)
	answer("POST /api/login", 401, api.Refusal{Error: "unknown bearer token (http.tokens in the configuration lists the valid ones)"})
	answer("GET /api/views", 200, map[string]any{"views": s.views, "age_ms": 400})
	server := httptest.NewServer(mux)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// In every state the letters do not cover one another, the page is no wider than the screen, and axe-core finds nothing serious: light and dark, on a screen and
// on a telephone. Usually one look at a few of the states has to do. In a long run with -pictures each look is a picture.
func TestEveryStateOfThePageInTheBrowser(t *testing.T) {
	type look struct {
		width int64
		dark  bool
	}
	looks := effort.Pick(nil, []look{{400, true}}, []look{{1280, false}, {1280, true}, {400, false}, {400, true}})
	every := effort.Pick(1, 7, 1)
	for i, s := range scenes() {
		if i%every > 0 {
			continue
		}
		t.Run(strings.ReplaceAll(s.name, " ", "-"), func(t *testing.T) {
			for _, l := range looks {
				p := open(t, s.serve(t), size(l.width, 900, l.dark))
				p.forgiven = true // refusals are errors to a browser
				p.until(`document.getElementById('who') !== null && document.body.dataset.look !== undefined && (document.body.dataset.look === 'no' || document.querySelectorAll('.node').length > 0)`)
				if s.do != "" {
					p.do(chromedp.Evaluate[chromedp.Void](s.do + `; undefined`))
				}
				p.until(s.until)
				p.until(fmt.Sprintf(`document.documentElement.scrollWidth <= %d`, l.width))
				p.until(collisions + `.length === 0`)
				if len(looks) > 1 {
					p.accessible(fmt.Sprintf("%s, %d, dark: %v", s.name, l.width, l.dark))
					p.pictured(fmt.Sprintf("%s-%d-%v.png", strings.ReplaceAll(s.name, " ", "-"), l.width, l.dark), l.width, l.dark)
				}
			}
		})
	}
}
