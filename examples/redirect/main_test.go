package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
)

// failovers is how often the leader is taken away.
const failovers = 20

// hosts serves three sites in memory. It is the network of their clients.
type hosts struct {
	t *testing.T
	// work is what a leader does before it answers.
	work func()
	mu   sync.Mutex
	// sites are those that are up, by host, and answers all that were answered with 200.
	sites    map[string]*site
	cancel   map[string]context.CancelFunc
	answers  []answer
	statuses map[int]int
}

type answer struct {
	token      uint64
	begin, end time.Time
}

// RoundTrip brings a request to a site. Whenever one answers with 200, its lease must be valid.
func (h *hosts) RoundTrip(q *http.Request) (*http.Response, error) {
	h.mu.Lock()
	s := h.sites[q.URL.Host]
	h.mu.Unlock()
	if s == nil {
		return nil, errors.New("connection refused")
	}
	begin, l, w := time.Now(), s.lease.Load(), httptest.NewRecorder()
	s.ServeHTTP(w, q)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.statuses[w.Code]++
	if w.Code == http.StatusOK {
		token, err := strconv.ParseUint(w.Header().Get("Regent-Token"), 10, 64)
		if err != nil || l == nil || l.Token() != token || !l.Valid() {
			h.t.Errorf("%s answers %q with token %d, and its lease is not valid (%v)", q.URL.Host, w.Body, token, err)
		}
		h.answers = append(h.answers, answer{token, begin, time.Now()})
	}
	r := w.Result()
	r.Request = q
	return r, nil
}

// start serves the site of a host, as the member that is there now.
func (h *hosts) start(c *cluster.Cluster, name string) {
	group, err := c.Member(name).Group("redirect")
	if err != nil {
		h.t.Fatal(err)
	}
	s := &site{group: group, url: "http://" + name, work: func(*http.Request) string { h.work(); return name }}
	ctx, cancel := context.WithCancel(h.t.Context())
	h.mu.Lock()
	h.sites[name], h.cancel[name] = s, cancel
	h.mu.Unlock()
	go func() { _ = s.lead(ctx) }()
}

func (h *hosts) stop(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sites, name)
	h.cancel[name]()
}

// leader waits for an answer with a token above the one given, and returns who gave it.
func (h *hosts) leader(ctx context.Context, g *regent.Group, above uint64) (name string, token uint64) {
	h.t.Helper()
	client := &http.Client{Transport: h}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for token <= above {
		err := g.Call(ctx, func(ctx context.Context, p *regent.Proof) error {
			text, err := get(ctx, client, p.Value)
			name, token = text, p.Token
			if err == nil && text != p.Leader {
				h.t.Errorf("%s was asked, and %s answers", p.Leader, text)
			}
			return err
		})
		if err != nil {
			h.t.Fatal(err)
		}
	}
	return name, token
}

// get returns what is at an address.
func get(ctx context.Context, client *http.Client, url string) (string, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/", nil)
	if err != nil {
		return "", err
	}
	r, err := client.Do(q)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, r.Status)
	}
	return string(b), err
}

// Leaders are cut off, killed and stopped, twenty times, while clients ask every host and follow redirects. Each answer comes from
// a host whose lease is valid, and no answer of an earlier leader comes after one of a later.
func TestEveryAnswerIsOfALeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := cluster.Open(t, cluster.Options{Names: []string{"a", "b", "c"}, Hosts: cluster.Memory, Timing: regent.LAN})
		if err := c.JoinAll(t.Context(), c.Names...); err != nil {
			t.Fatal(err)
		}
		// A leader works for longer than its guard time, so that its lease may end meanwhile.
		h := &hosts{t: t, work: func() { time.Sleep(30 * time.Millisecond) }, sites: make(map[string]*site), cancel: make(map[string]context.CancelFunc), statuses: make(map[int]int)}
		for _, name := range c.Names {
			h.start(c, name)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var clients sync.WaitGroup
		for i := range 6 {
			clients.Go(func() {
				client := &http.Client{Transport: h}
				for ctx.Err() == nil {
					_, _ = get(ctx, client, "http://"+c.Names[i%3])
					time.Sleep(time.Duration(1+i) * time.Millisecond)
				}
			})
		}
		observer := func(but string) *regent.Group {
			for _, name := range c.Names {
				if name != but {
					g, err := c.Member(name).Group("redirect")
					if err != nil {
						t.Fatal(err)
					}
					return g
				}
			}
			return nil
		}
		name, token := h.leader(ctx, observer(""), 0)
		for i := range failovers {
			old := name
			switch i % 3 {
			case 0:
				check(t, c.Cut(old))
			case 1:
				h.stop(old)
				check(t, c.Crash(old))
			case 2:
				h.stop(old)
			}
			name, token = h.leader(ctx, observer(old), token)
			if name == old {
				t.Errorf("%s leads again", old)
			}
			switch i % 3 {
			case 0:
				check(t, c.HealAll())
			case 1:
				check(t, c.JoinAll(t.Context(), old))
				h.start(c, old)
			case 2:
				h.start(c, old)
			}
			time.Sleep(500 * time.Millisecond)
		}
		cancel()
		clients.Wait()
		for _, name := range c.Names {
			h.stop(name)
		}
		h.check()
	})
}

// check looks at all answers in the order in which they were given.
func (h *hosts) check() {
	h.t.Logf("answers by status: %v", h.statuses)
	if h.statuses[http.StatusOK] < 50*failovers || h.statuses[http.StatusTemporaryRedirect] < 50*failovers || h.statuses[http.StatusServiceUnavailable] == 0 {
		h.t.Errorf("answers by status %v: too few to see anything", h.statuses)
	}
	for i, late := range h.answers {
		for _, early := range h.answers[:i] {
			if early.end.Before(late.begin) && early.token > late.token {
				h.t.Fatalf("token %d answers after token %d", late.token, early.token)
			}
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
