package httpd

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/config"
)

// A paged is an agent's HTTP interface with a dashboard that answers "seen" to what it lets through, and streams until the client goes.
type paged struct {
	testing.TB
	*httptest.Server
	gate *access.Gate
	file *config.File
}

func servePage(t *testing.T, file *config.File) *paged {
	t.Helper()
	a := newFake(file)
	serve(t, a) // fills the digests in
	p := &paged{TB: t, gate: access.NewGate(slog.New(slog.DiscardHandler)), file: file}
	p.reload()
	s := New(a, p.gate)
	s.Dashboard = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, _ = io.WriteString(w, "seen\n")
		if q.URL.Path == "/api/events" {
			_ = http.NewResponseController(w).Flush()
			<-q.Context().Done()
		}
	})
	p.Server = httptest.NewServer(s.Authenticate(false, s.Handler(s.Routes())))
	t.Cleanup(p.Close)
	return p
}

func (p *paged) reload() {
	p.Helper()
	rules, err := access.NewRules(p.file)
	if err != nil {
		p.Fatal(err)
	}
	p.gate.SetAccess(rules)
}

// ask sends a request; each change makes it another one. It returns the status, and the body unless that is a stream.
func (p *paged) ask(method, path, body string, changes ...func(*http.Request)) (*http.Response, string) {
	p.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	p.Cleanup(cancel)
	q, err := http.NewRequestWithContext(ctx, method, p.URL+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	for _, change := range changes {
		change(q)
	}
	answer, err := p.Client().Transport.RoundTrip(q)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { answer.Body.Close() })
	if answer.StatusCode == 200 && path == "/ui/api/events" {
		return answer, ""
	}
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		p.Fatal(err)
	}
	return answer, string(b)
}

// logIn returns what a browser sends from then on, and the key of its page.
func (p *paged) logIn(token string) (func(*http.Request), func(*http.Request)) {
	p.Helper()
	answer, body := p.ask("POST", "/ui/api/login", `{"token":"`+token+`"}`)
	var s api.PageSession
	if err := json.Unmarshal([]byte(body), &s); err != nil || answer.StatusCode != 200 || len(answer.Cookies()) != 1 {
		p.Fatalf("the login is answered %s %s, %v", answer.Status, body, err)
	}
	c := answer.Cookies()[0]
	return func(q *http.Request) { q.AddCookie(c) }, func(q *http.Request) { q.Header.Set(access.PageHeader, s.Key) }
}

func host(name string) func(*http.Request) { return func(q *http.Request) { q.Host = name } }

func header(name, value string) func(*http.Request) {
	return func(q *http.Request) { q.Header.Set(name, value) }
}

func twoTokens() *config.File {
	return &config.File{HTTP: config.HTTP{Anonymous: "none", Tokens: []config.Token{{Name: "writer", Role: "write"}, {Name: "reader", Role: "read"}}}}
}

// A login opens the page, in a cookie that scripts cannot read and other sites cannot have sent. It opens nothing else.
func TestALoginOpensThePageAndNothingElse(t *testing.T) {
	p := servePage(t, twoTokens())
	if answer, body := p.ask("GET", "/ui/", ""); answer.StatusCode != 200 || body != "seen\n" {
		t.Errorf("the page itself: %s %s", answer.Status, body)
	}
	for _, path := range []string{"/ui/api/events", "/ui/api%2Fevents", "/ui/%61pi/events", "/ui/api"} {
		if answer, _ := p.ask("GET", path, ""); answer.StatusCode == 200 {
			t.Errorf("%s without a login: %s", path, answer.Status)
		}
	}
	if answer, _ := p.ask("POST", "/ui/api/login", `{"token":"strange"}`); answer.StatusCode != 401 || len(answer.Cookies()) > 0 {
		t.Errorf("an unknown token: %s", answer.Status)
	}
	answer, _ := p.ask("POST", "/ui/api/login", `{"token":"writer"}`)
	if c := answer.Cookies()[0]; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/ui/" || c.Domain != "" || len(c.Value) < 40 {
		t.Errorf("the cookie is %v", c)
	}
	cookie, _ := p.logIn("reader")
	if answer, _ := p.ask("GET", "/ui/api/events", "", cookie); answer.StatusCode != 200 {
		t.Errorf("the stream with a login: %s", answer.Status)
	}
	for _, path := range []string{"/v1/status", "/ui/../v1/status", "/ui/%2e%2e/v1/status", "/v1/events"} {
		if answer, body := p.ask("GET", path, "", cookie); answer.StatusCode == 200 && body != "seen\n" {
			t.Errorf("%s with a login: %s %s", path, answer.Status, body)
		}
	}
}

func TestOrdersNeedTheKeyOfTheirPage(t *testing.T) {
	p := servePage(t, twoTokens())
	cookie, key := p.logIn("writer")
	_, other := p.logIn("writer")
	none := func(*http.Request) {}
	for _, c := range []struct {
		name        string
		cookie, key func(*http.Request)
		want        int
	}{{"both", cookie, key, 200}, {"no key", cookie, none, 403}, {"an empty key", cookie, header(access.PageHeader, ""), 403},
		{"the key of another login", cookie, other, 403}, {"no cookie", none, key, 401}} {
		if answer, body := p.ask("POST", "/ui/api/do", `{}`, c.cookie, c.key); answer.StatusCode != c.want {
			t.Errorf("%s: %s %s", c.name, answer.Status, body)
		}
	}
	// A service on another port of this host gets the cookie, and not the key.
	if _, body := p.ask("GET", "/ui/api/session", "", cookie); !strings.Contains(body, `"loggedIn":true`) || strings.Contains(body, `"key"`) {
		t.Errorf("the cookie alone shows %s", body)
	}
	// Pages of clients that need no login have a key, too: on loopback another site could make a browser ask for them.
	p.file.HTTP.Anonymous = "write"
	p.reload()
	if answer, _ := p.ask("POST", "/ui/api/do", `{}`); answer.StatusCode != 403 {
		t.Errorf("an order of no page: %s", answer.Status)
	}
	var s api.PageSession
	if _, body := p.ask("GET", "/ui/api/session", ""); json.Unmarshal([]byte(body), &s) != nil || s.Key == "" {
		t.Errorf("a page without a login gets %s", body)
	}
	if answer, _ := p.ask("POST", "/ui/api/do", `{}`, header(access.PageHeader, s.Key)); answer.StatusCode != 200 {
		t.Errorf("an order of a page without a login: %s", answer.Status)
	}
	if answer, _ := p.ask("POST", "/ui/api/do", `{}`, header("Authorization", "Bearer writer")); answer.StatusCode != 200 {
		t.Errorf("an order with a bearer token: %s", answer.Status)
	}
}

// A stranger's name that was made to point here shows nothing, and a cookie counts under the name that it was given for.
func TestALoginCountsUnderOneName(t *testing.T) {
	p := servePage(t, twoTokens())
	cookie, key := p.logIn("writer")
	_, port, _ := net.SplitHostPort(p.Listener.Addr().String())
	for name, want := range map[string]int{"evil.example:" + port: 421, "localhost:" + port: 401, "127.0.0.1:1": 401, p.Listener.Addr().String(): 200} {
		if answer, _ := p.ask("POST", "/ui/api/do", `{}`, cookie, key, host(name)); answer.StatusCode != want {
			t.Errorf("%s: %s, want %d", name, answer.Status, want)
		}
	}
	p.file.HTTP.Anonymous = "write"
	p.reload()
	for _, path := range []string{"/ui/", "/ui/api/session", "/ui/api/events"} {
		if answer, _ := p.ask("GET", path, "", host("evil.example:"+port)); answer.StatusCode != 421 {
			t.Errorf("%s under another name: %s", path, answer.Status)
		}
	}
	if answer, _ := p.ask("POST", "/ui/api/login", `{"token":"writer"}`, host("evil.example:"+port)); answer.StatusCode != 421 {
		t.Errorf("a login under another name: %s", answer.Status)
	}
}

func TestOtherSitesLogNobodyIn(t *testing.T) {
	p := servePage(t, twoTokens())
	for name, change := range map[string]func(*http.Request){
		"a page of another site":              header("Sec-Fetch-Site", "cross-site"),
		"a page of another port":              header("Sec-Fetch-Site", "same-site"),
		"a page of another site, of old":      header("Origin", "http://evil.example"),
		"a form, which asks for no preflight": header("Content-Type", "text/plain"),
	} {
		if answer, _ := p.ask("POST", "/ui/api/login", `{"token":"writer"}`, change); answer.StatusCode < 400 || len(answer.Cookies()) > 0 {
			t.Errorf("%s: %s", name, answer.Status)
		}
	}
	cookie, _ := p.logIn("writer")
	if answer, _ := p.ask("POST", "/ui/api/logout", "", cookie, header("Sec-Fetch-Site", "cross-site")); answer.StatusCode != 403 {
		t.Errorf("another site logs out: %s", answer.Status)
	}
}

func TestALoginThatIsOverCannotBeReplayed(t *testing.T) {
	p := servePage(t, twoTokens())
	ended := func(what string, end func(cookie func(*http.Request))) {
		t.Helper()
		cookie, key := p.logIn("writer")
		stream, _ := p.ask("GET", "/ui/api/events", "", cookie)
		if stream.StatusCode != 200 {
			t.Fatal(stream.Status)
		}
		end(cookie)
		if _, err := io.ReadAll(stream.Body); err != nil { // an open stream would end by the time limit of the request
			t.Fatalf("%s: the stream ends with %v", what, err)
		}
		if answer, _ := p.ask("POST", "/ui/api/do", `{}`, cookie, key); answer.StatusCode != 401 {
			t.Errorf("%s: an order is answered %s", what, answer.Status)
		}
	}
	ended("after a logout", func(cookie func(*http.Request)) {
		answer, _ := p.ask("POST", "/ui/api/logout", "", cookie)
		if answer.StatusCode != 204 || len(answer.Cookies()) != 1 || answer.Cookies()[0].MaxAge >= 0 {
			t.Errorf("the logout is answered %s %v", answer.Status, answer.Cookies())
		}
	})
	ended("after its token got another role", func(func(*http.Request)) {
		p.file.HTTP.Tokens[0].Role = "read"
		p.reload()
	})
	ended("after its token has gone", func(func(*http.Request)) {
		p.file.HTTP.Tokens = p.file.HTTP.Tokens[1:]
		p.reload()
	})
}

func TestATokenHasSixteenLogins(t *testing.T) {
	p := servePage(t, twoTokens())
	first, _ := p.logIn("writer")
	last, _ := p.logIn("reader")
	for range 16 {
		last, _ = p.logIn("writer")
	}
	for what, c := range map[string]struct {
		cookie func(*http.Request)
		want   int
	}{"the oldest": {first, 401}, "the newest": {last, 200}} {
		if answer, _ := p.ask("GET", "/ui/api/events", "", c.cookie); answer.StatusCode != c.want {
			t.Errorf("%s: %s", what, answer.Status)
		}
	}
}

// A source that guesses is refused, also if it guesses right, and a login in between gives it no more attempts.
func TestGuessesAreLimited(t *testing.T) {
	p := servePage(t, twoTokens())
	for range 4 {
		if answer, _ := p.ask("POST", "/ui/api/login", `{"token":"guess"}`); answer.StatusCode != 401 {
			t.Errorf("a guess: %s", answer.Status)
		}
	}
	p.logIn("reader")
	p.ask("POST", "/ui/api/login", `{"token":"guess"}`)
	if answer, _ := p.ask("POST", "/ui/api/login", `{"token":"writer"}`); answer.StatusCode != 429 || answer.Header.Get("Retry-After") == "" || len(answer.Cookies()) > 0 {
		t.Errorf("after five guesses: %s", answer.Status)
	}
}

// Guesses by bearer tokens and by the login form count together, for their source. Others are served meanwhile: those of other sources, those without a
// token, and those on the unix socket.
func TestGuessesOfBearerTokensAreLimited(t *testing.T) {
	s := newServer(t, newFake(twoTokens()))
	s.Dashboard = http.NotFoundHandler()
	asked := func(trusted bool, from, token, path string) *httptest.ResponseRecorder {
		q := httptest.NewRequest("GET", path, nil)
		q.RemoteAddr = from + ":4711"
		if token != "" {
			q.Header.Set("Authorization", "Bearer "+token)
		}
		if trusted {
			q = q.WithContext(context.WithValue(q.Context(), access.ClientKey{}, &access.Client{Local: true, Role: access.Writer}))
		}
		w := httptest.NewRecorder()
		s.Authenticate(trusted, s.Handler(s.Routes())).ServeHTTP(w, q)
		return w
	}
	for range 20 { // what is right costs nothing
		if w := asked(false, "10.0.0.1", "reader", "/v1/status"); w.Code != 200 {
			t.Fatalf("a token: %d %s", w.Code, w.Body)
		}
	}
	for i := range 5 {
		if w := asked(false, "10.0.0.1", "guess", "/v1/status"); w.Code != 401 {
			t.Errorf("guess %d: %d", i, w.Code)
		}
	}
	for _, c := range []struct {
		what, from, token, path string
		trusted                 bool
		want                    int
	}{
		{"a guess more", "10.0.0.1", "guess", "/v1/status", false, 429},
		{"a guess that is right", "10.0.0.1", "reader", "/v1/status", false, 429},
		{"on the page", "10.0.0.1", "reader", "/ui/api/events", false, 429},
		{"what needs no token", "10.0.0.1", "guess", "/healthz", false, 200},
		{"without a token", "10.0.0.1", "", "/healthz", false, 200},
		{"another source", "10.0.0.2", "reader", "/v1/status", false, 200},
		{"the unix socket", "@", "guess", "/v1/status", true, 200},
	} {
		w := asked(c.trusted, c.from, c.token, c.path)
		if w.Code != c.want || (w.Header().Get("Retry-After") != "") != (c.want == 429) {
			t.Errorf("%s: %d %s, want %d; Retry-After %q", c.what, w.Code, w.Body, c.want, w.Header().Get("Retry-After"))
		}
	}
}

// A token crosses no network in the clear.
func TestLoginsNeedAWayThatNobodyReads(t *testing.T) {
	at := func(local, remote, host string, secure bool) bool {
		q := httptest.NewRequest("POST", "http://"+host+"/ui/api/login", nil)
		q.RemoteAddr = remote
		if secure {
			q.TLS = &tls.ConnectionState{}
		}
		addr, _ := net.ResolveTCPAddr("tcp", local)
		return access.MayLogIn(q.WithContext(context.WithValue(q.Context(), http.LocalAddrContextKey, net.Addr(addr))))
	}
	for _, c := range []struct {
		local, remote, host string
		tls, want           bool
	}{
		{"127.0.0.1:80", "127.0.0.1:9", "localhost", false, true}, {"[::1]:80", "[::1]:9", "[::1]:80", false, true},
		{"10.0.0.1:80", "10.0.0.2:9", "10.0.0.1", false, false}, {"10.0.0.1:80", "10.0.0.2:9", "localhost", false, false},
		{"127.0.0.1:80", "127.0.0.1:9", "host.example", false, false}, {"10.0.0.1:80", "10.0.0.2:9", "host.example", true, true},
	} {
		if got := at(c.local, c.remote, c.host, c.tls); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestThePageIsToldWhyNot(t *testing.T) {
	f := twoTokens()
	f.Rights = []config.Right{{Groups: []string{"db"}, Operate: []string{"token:reader"}, Remote: []string{"token:reader"}}}
	p := servePage(t, f)
	reader, _ := p.logIn("reader")
	writer, _ := p.logIn("writer")
	for _, c := range []struct {
		path   string
		cookie func(*http.Request)
		want   string
	}{{"", func(*http.Request) {}, `"reason":"You are not logged in."`}, {"", reader, "token reader has the role read"},
		{"?group=db", writer, `"groupReason":"group \"db\": token writer may not operate it`}, {"?group=db", writer, `"groupRemoteReason":"group \"db\": token writer may not operate it from another host`},
		{"?group=other", writer, `in the agent's configuration"}`}, {"", writer, `"allReason":"this is about all groups, and this client may not operate all of them`}, {"", writer, `"remoteReason":"token writer may not operate all groups from another host`}} {
		if _, body := p.ask("GET", "/ui/api/session"+c.path, "", c.cookie); !strings.Contains(body, c.want) {
			t.Errorf("%s shows %s, want %s", c.path, body, c.want)
		}
	}
}
