package httpfence

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/regentproject/regent/fence"
)

const (
	older   = "0.5.1000:0/1@10,1/1@20"
	newer   = "0.7.3:1/1@21,2/1@30"
	strange = "0.9.4:1/1@19,2/1@31"
)

// ask sends one request with the given stamps and returns the status and, unless it was let through, the refusal.
func ask(t *testing.T, h http.Handler, stamps ...string) (int, Refusal) {
	t.Helper()
	r := httptest.NewRequest("POST", "/", nil)
	for _, s := range stamps {
		r.Header.Add(Header, s)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var body Refusal
	if w.Code != http.StatusOK {
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%d with body %q, %v", w.Code, w.Body, err)
		}
	}
	return w.Code, body
}

func TestTheHandlerAnswersWithTheReason(t *testing.T) {
	let := 0
	var gate fence.Gate
	h := Handler(&gate, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		let++
		io.WriteString(w, FromContext(r.Context()).String())
	}))
	for _, c := range []struct {
		name         string
		stamps       []string
		status, lets int
		word         string
		got, seen    string
	}{
		{"in order", []string{older}, 200, 1, "", "", ""},
		{"token of the same leadership", []string{"5"}, 200, 2, "", "", ""},
		{"successor", []string{newer}, 200, 3, "", "", ""},
		{"stale", []string{older}, 409, 3, "stale", older, newer},
		{"stale token", []string{"6"}, 409, 3, "stale", "6", newer},
		{"inconsistent", []string{strange}, 409, 3, "inconsistent", strange, ""},
		{"missing", nil, 428, 3, "missing", "", ""},
		{"malformed", []string{"seven"}, 400, 3, "malformed", "", ""},
		{"empty", []string{""}, 400, 3, "malformed", "", ""},
		{"two", []string{newer, newer}, 400, 3, "malformed", "", ""},
	} {
		status, body := ask(t, h, c.stamps...)
		if status != c.status || let != c.lets || body.Error != c.word || body.Got.String() != c.got || body.Seen.String() != c.seen {
			t.Errorf("%s: %d, let through %d, %+v", c.name, status, let, body)
		}
		if status != 200 && body.Reason == "" {
			t.Errorf("%s: no reason", c.name)
		}
	}
	if !FromContext(t.Context()).IsZero() {
		t.Error("a stamp from nowhere")
	}
}

func TestALaterLeadershipWaitsForTheHandlersOfTheEarlier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gate fence.Gate
		var order []string
		release := make(chan struct{})
		h := Handler(&gate, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s := FromContext(r.Context()).String()
			if s == older {
				<-release
			}
			order = append(order, s)
		}))
		go ask(t, h, older)
		synctest.Wait()
		go ask(t, h, newer)
		synctest.Wait()
		if status, _ := ask(t, h, older); status != http.StatusConflict {
			t.Errorf("an earlier leadership gets %d while a later one waits", status)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "/", nil).WithContext(ctx)
		r.Header.Set(Header, newer)
		h.ServeHTTP(w, r)
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"busy"`) {
			t.Errorf("a wait that was given up: %d %s", w.Code, w.Body)
		}
		close(release)
		synctest.Wait()
		if len(order) != 2 || order[0] != older || order[1] != newer {
			t.Errorf("carried out in the order %v", order)
		}
	})
}

func TestTheTransportStampsEachRequest(t *testing.T) {
	var gate fence.Gate
	srv := httptest.NewServer(Handler(&gate, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
	})))
	defer srv.Close()
	over := errors.New("the lease is over")
	token := uint64(8)
	client := &http.Client{Transport: &Transport{Stamp: func() (fence.Stamp, error) {
		if token > 9 {
			return fence.Stamp{}, over
		}
		token++
		return fence.Token(token - 1), nil
	}}}
	for want := uint64(8); want <= 9; want++ {
		resp, err := client.Post(srv.URL, "text/plain", strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || string(body) != "hello" || gate.Mark().Token() != want {
			t.Errorf("%d %q, mark %v; want token %d", resp.StatusCode, body, gate.Mark(), want)
		}
	}
	if _, err := client.Post(srv.URL, "text/plain", strings.NewReader("late")); !errors.Is(err, over) || gate.Mark().Token() != 9 {
		t.Errorf("after the lease: %v, mark %v", err, gate.Mark())
	}
}

func TestTheTransportLeavesTheCallersRequestAlone(t *testing.T) {
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Header.Get(Header) != "3" {
			t.Errorf("sent with %q", r.Header.Get(Header))
		}
		return nil, errors.New("no network")
	})
	tr := &Transport{Stamp: func() (fence.Stamp, error) { return fence.Token(3), nil }, Base: base}
	r := httptest.NewRequest("POST", "http://example.com/", nil)
	tr.RoundTrip(r)
	if r.Header.Get(Header) != "" {
		t.Error("the caller's request was changed")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
