package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/api"
)

// stream reads server-sent events.
type events struct {
	t    testing.TB
	in   *bufio.Reader
	last string
}

// follow opens a stream, after the event with the id if there is one.
func follow(t testing.TB, url, last string) *events {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", url+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	if ct := answer.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Fatalf("%s, content type %s", answer.Status, ct)
	}
	return &events{t: t, in: bufio.NewReader(answer.Body)}
}

// next returns the next update that is not only the time.
func (e *events) next() *Update {
	e.t.Helper()
	for {
		line, err := e.in.ReadString('\n')
		if err != nil {
			e.t.Fatal(err)
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			e.last = strings.TrimSpace(id)
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var u Update
		if err := json.Unmarshal([]byte(data), &u); err != nil {
			e.t.Fatal(err)
		}
		if !u.empty() {
			return &u
		}
	}
}

func serve(t testing.TB, s Source, o Options) string {
	server := httptest.NewServer(Handler(s, o))
	t.Cleanup(server.Close)
	// Streams end with their clients, so those go first.
	t.Cleanup(server.CloseClientConnections)
	return server.URL
}

func filled() *Store {
	s := NewStore(func() time.Duration { return 0 })
	s.Replace(&State{About: About{Kind: "demo", Actions: []Action{{Verb: "crash", On: "member"}}}, Members: []Member{{Name: "a"}}})
	return s
}

func TestStreamSendsEverythingThenChanges(t *testing.T) {
	s := filled()
	e := follow(t, serve(t, s, Options{}), "")
	if u := e.next(); !u.Reset || len(u.Members) != 1 || u.About.Kind != "demo" {
		t.Errorf("first came %+v", u)
	}
	s.Put(&State{Members: []Member{{Name: "b"}}})
	if u := e.next(); u.Reset || len(u.Members) != 1 || u.Members[0].Name != "b" || u.About != nil {
		t.Errorf("then came %+v", u)
	}
}

func TestStreamGoesOnWhereAPageWasCutOff(t *testing.T) {
	s := filled()
	url := serve(t, s, Options{})
	first := follow(t, url, "")
	first.next()
	s.Put(&State{Members: []Member{{Name: "b"}}})
	if u := follow(t, url, first.last).next(); u.Reset || len(u.Members) != 1 {
		t.Errorf("a page that comes back gets %+v", u)
	}
	// Serial numbers of another process mean nothing here.
	if u := follow(t, url, "another/1").next(); !u.Reset || len(u.Members) != 2 {
		t.Errorf("a page of another process gets %+v", u)
	}
	if u := follow(t, url, first.last+"x").next(); !u.Reset {
		t.Errorf("a page with a serial number that is none gets %+v", u)
	}
}

func TestStreamSaysTheTimeWhenNothingHappens(t *testing.T) {
	e := follow(t, serve(t, filled(), Options{}), "")
	e.next()
	for range 2 { // the rest of the first event, and another one
		if _, err := e.in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if line, _ := e.in.ReadString('\n'); !strings.HasPrefix(line, "data: ") || !strings.Contains(line, `"now"`) {
		t.Errorf("it says %q", line)
	}
}

func TestStreamsAreLimited(t *testing.T) {
	url := serve(t, filled(), Options{Streams: 1})
	follow(t, url, "").next()
	answer, err := http.Get(url + "/api/events")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the second of one page gets %s", answer.Status)
	}
}

// post sends a command and returns the status and what was said.
func post(t testing.TB, url, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, strings.TrimSpace(string(b))
}

func TestCommands(t *testing.T) {
	var got []Command
	do := func(_ context.Context, c Command) (string, error) {
		if c.Verb == "fail" {
			return "", errors.New("it does not run")
		}
		got = append(got, c)
		return "done", nil
	}
	url := serve(t, filled(), Options{Do: do}) + "/api/do"
	for _, c := range []struct {
		name, body string
		header     []string
		status     int
		said       string
	}{
		{"a command", `{"verb":"crash","members":["a"]}`, nil, 200, `{"text":"done"}`},
		{"one that fails", `{"verb":"fail"}`, nil, 409, `{"error":"it does not run"}`},
		{"an unknown field", `{"verb":"crash","force":true}`, nil, 400, `unknown field`},
		{"no JSON", `crash a`, nil, 400, `cannot be understood`},
		{"too much", `{"verb":"` + strings.Repeat("x", maxCommand) + `"}`, nil, 400, `too large`},
		{"one from another page", `{"verb":"crash"}`, []string{"Sec-Fetch-Site", "cross-site"}, 403, "cross-origin"},
		{"one from another origin", `{"verb":"crash"}`, []string{"Origin", "https://example.org"}, 403, "cross-origin"},
	} {
		if status, said := post(t, url, c.body, c.header...); status != c.status || !strings.Contains(said, c.said) {
			t.Errorf("%s: %d %s", c.name, status, said)
		}
	}
	if len(got) != 1 || got[0].Verb != "crash" || !slices.Equal(got[0].Members, []string{"a"}) {
		t.Errorf("done was %+v", got)
	}
}

func TestThoseWhoMayOnlyLookDoNothing(t *testing.T) {
	did := false
	o := Options{Do: func(context.Context, Command) (string, error) { did = true; return "", nil },
		Load: func(string, io.Reader) error { did = true; return nil },
		May:  func(r *http.Request) bool { return r.Header.Get("Authorization") == "yes" }}
	url := serve(t, filled(), o)
	for who, may := range map[string]bool{"yes": true, "no": false} {
		r, err := http.NewRequest("GET", url+"/api/session", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", who)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var session api.PageSession
		if err := errors.Join(json.NewDecoder(answer.Body).Decode(&session), answer.Body.Close()); err != nil || session.MayOrder != may || !session.MayLook {
			t.Errorf("%s gets %+v, %v", who, session, err)
		}
	}
	if status, _ := post(t, url+"/api/do", `{"verb":"crash"}`); status != http.StatusForbidden || did {
		t.Errorf("status %d, done %v", status, did)
	}
	if status, _ := post(t, url+"/api/load", `x`); status != http.StatusForbidden || did {
		t.Errorf("status %d, done %v", status, did)
	}
	if status, _ := post(t, url+"/api/do", `{"verb":"crash"}`, "Authorization", "yes"); status != http.StatusOK || !did {
		t.Errorf("who may is told %d", status)
	}
}

func TestFilesAreLoaded(t *testing.T) {
	var name, text string
	url := serve(t, filled(), Options{Do: func(context.Context, Command) (string, error) { return "", nil },
		Load: func(n string, f io.Reader) error {
			b, err := io.ReadAll(f)
			name, text = n, string(b)
			if text == "bad" {
				return errors.New("no trace")
			}
			return err
		}})
	if status, _ := post(t, url+"/api/load?name=f.jsonl", "lines"); status != 200 || name != "f.jsonl" || text != "lines" {
		t.Errorf("status %d, %q %q", status, name, text)
	}
	if status, said := post(t, url+"/api/load?name=f", "bad"); status != http.StatusUnprocessableEntity || !strings.Contains(said, "no trace") {
		t.Errorf("status %d: %s", status, said)
	}
}

func TestEveryAnswerForbidsWhatThePageDoesNotNeed(t *testing.T) {
	url := serve(t, filled(), Options{})
	for _, path := range []string{"/", "/style.css", "/nothing", "/api/nothing"} {
		answer, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		policy := answer.Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || answer.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %s", path, policy)
		}
	}
}

// The page loads nothing from outside, has no script or style in its HTML, which its own policy would refuse, and every
// module that is imported is there.
func TestThePageIsWhole(t *testing.T) {
	outside := regexp.MustCompile(`(?:src|href)="(?:https?:)?//|url\([^#]|@import|\bimport\(|from '[^.]`)
	inline := regexp.MustCompile(`<script>|<style|\son[a-z]+="|\sstyle="|setAttribute\('style'`)
	imports := regexp.MustCompile(`(?:from '\./|src="|href=")([a-z]+\.[a-z]+)`)
	err := fs.WalkDir(Files(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(Files(), path)
		if err != nil {
			return err
		}
		text := strings.ReplaceAll(string(b), "http://www.w3.org/2000/svg", "")
		if m := outside.FindString(text); m != "" {
			t.Errorf("%s loads something from elsewhere: %s", path, m)
		}
		if m := inline.FindString(text); m != "" {
			t.Errorf("%s has inline code: %s", path, m)
		}
		for _, m := range imports.FindAllStringSubmatch(text, -1) {
			if _, err := fs.Stat(Files(), m[1]); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		if n := strings.Count(text, "\n"); n > 500 {
			t.Errorf("%s has %d lines", path, n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestServeListensToThisHostOnly(t *testing.T) {
	if s, err := Serve("0.0.0.0:0", http.NotFoundHandler()); err == nil {
		s.Close()
		t.Error("it listens to the whole network")
	}
	s, err := Serve("127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "here") }))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	port := s.URL[strings.LastIndex(s.URL, ":")+1 : len(s.URL)-1]
	for host, want := range map[string]int{"127.0.0.1:" + port: 200, "localhost:" + port: 200, "evil.example.org:" + port: 421,
		"evil.example.org": 421, "10.0.0.1:" + port: 421, "127.0.0.1:1": 421} {
		r, err := http.NewRequest("GET", s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("as %s: %s", host, answer.Status)
		}
	}
}

// The page explains tokens where it shows them.
func TestThePageExplainsTokens(t *testing.T) {
	b, err := fs.ReadFile(Files(), "groups.js")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, "id: 'token'") && strings.Contains(line, "skip numbers") {
			return
		}
	}
	t.Error("the column of tokens has no explanation")
}
