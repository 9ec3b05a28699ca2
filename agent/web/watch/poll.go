package watch

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/view"
)

const (
	// pollAge is how old an answer may be that another page gets.
	pollAge = time.Second
	// pollsKept is of how many groups answers are kept.
	pollsKept = 64
)

// A poll asks all members what they say of a group, and keeps what they said for other pages.
type poll struct {
	// ask is for quorum groups, and others for those of the other modes.
	ask, others func(ctx context.Context, group string) ([]view.MemberView, error)

	mu sync.Mutex
	// known are answers by group.
	known map[string]*polled
}

// polled is the answer of all members.
type polled struct {
	mu sync.Mutex
	at time.Time
	// Views are in the order of the council.
	Views []view.MemberView `json:"views"`
	// Age is how long ago they were given.
	Age int64 `json:"age_ms"`
	// Error is why the members were not asked.
	Error string `json:"error,omitempty"`
}

func newPoll(ask, others func(ctx context.Context, group string) ([]view.MemberView, error)) *poll {
	return &poll{ask: ask, others: others, known: make(map[string]*polled)}
}

func (p *poll) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	group, mode := r.URL.Query().Get("group"), web.Mode(r.URL.Query().Get("mode"))
	ask := p.others
	if mode == web.Quorum {
		ask = p.ask
	}
	a := p.of(string(mode) + ":" + group)
	a.mu.Lock() // pages that come meanwhile get the same answer
	defer a.mu.Unlock()
	if a.at.IsZero() || time.Since(a.at) >= pollAge {
		views, err := ask(r.Context(), group)
		a.Views, a.Error, a.at = views, "", time.Now()
		if err != nil {
			a.Error = err.Error()
		}
	}
	a.Age = time.Since(a.at).Milliseconds()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a)
}

// of returns what is known of a group. Another group makes room if there are many.
func (p *poll) of(group string) *polled {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.known[group]; a != nil {
		return a
	}
	if len(p.known) >= pollsKept {
		for other := range p.known {
			delete(p.known, other)
			break
		}
	}
	a := &polled{}
	p.known[group] = a
	return a
}
