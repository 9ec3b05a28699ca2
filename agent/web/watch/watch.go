// Package watch shows on the dashboard what an agent knows: its council as its member sees it, its groups, and what changed
// lately. It asks the agent only while somebody looks.
//
//	watch.go  the source, and who may do what
//	state.go  what the agent knows, as the page shows it
//	past.go   leaderships, and incidents: one for all changes that have one cause
//	poll.go   what the members say of a quorum group, for pages that show it
//	ask.go    what the members say of themselves, and of groups of the other modes
package watch

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/view"
)

// An Agent is what the dashboard needs of one.
type Agent interface {
	Status() api.AgentStatus
	Members() []regent.PeerStatus
	Groups() []api.GroupInfo
	Changes() []api.Change
	CouncilChanges() []api.CouncilChange
	Views(ctx context.Context, group string) ([]view.MemberView, error)
	Reports(ctx context.Context, groups []string) []api.Report
	Resign(ctx context.Context, group string, token uint64) error
	Transfer(ctx context.Context, group, to string, token uint64) error
	Drain(ctx context.Context, member string, drain bool) (api.Drained, error)
}

// Dashboard serves the page for an agent.
func Dashboard(a Agent) http.Handler { return handler(a, access.MayWrite) }

// The agent is asked this often while somebody looks, and less often if that takes long: at most a twentieth of the time.
const (
	refreshInterval = 100 * time.Millisecond
	refreshShare    = 20
)

// source asks an agent.
type source struct {
	agent   Agent
	store   *web.Store
	reports *reports

	mu sync.Mutex
	// viewers counts the pages; stop ends the asking when the last has gone.
	viewers int
	stop    context.CancelFunc
}

func handler(a Agent, may func(*http.Request) bool) http.Handler {
	s := &source{agent: a, reports: newReports(a)}
	started := a.Status().Started
	s.store = web.NewStore(func() time.Duration { return time.Since(started) })
	page := web.Handler(s.store, web.Options{Do: s.do, May: may, Beside: map[string]http.Handler{"/api/views": newPoll(a.Views, s.reports.views)}})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/api/events") {
			s.addViewer()
			defer s.removeViewer()
		}
		page.ServeHTTP(w, r)
	})
}

// addViewer begins to ask the agent, if nobody else looks yet.
func (s *source) addViewer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.viewers++
	if s.viewers > 1 {
		return
	}
	s.refresh()
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	go s.reports.keep(ctx)
	go func() {
		for pause := refreshInterval; ; {
			select {
			case <-time.After(pause):
				begin := time.Now()
				s.refresh()
				pause = max(refreshInterval, refreshShare*time.Since(begin))
			case <-ctx.Done():
				return
			}
		}
	}()
}

func (s *source) removeViewer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.viewers--
	if s.viewers == 0 {
		s.stop()
	}
}

// refresh asks the agent how everything stands.
func (s *source) refresh() {
	status := s.agent.Status()
	st := state(&status, s.agent.Members(), s.agent.Groups(), s.agent.Changes(), s.agent.CouncilChanges(), time.Since(status.Started))
	addReports(st, s.reports.latest())
	s.store.Replace(st)
}

// orderTimeout is how long a program here may take to stop when somebody presses a button.
const orderTimeout = 30 * time.Second

// do carries out a command.
func (s *source) do(ctx context.Context, c web.Command) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, orderTimeout)
	defer cancel()
	defer s.refresh()
	switch drain := c.Verb == "drain"; c.Verb {
	case "resign":
		return "resign " + c.Group, s.agent.Resign(ctx, c.Group, c.Token)
	case "transfer":
		return "transfer " + c.Group + " " + c.To, s.agent.Transfer(ctx, c.Group, c.To, c.Token)
	case "drain", "undrain":
		if len(c.Members) != 1 {
			return "", fmt.Errorf("%s: %d members: name one", c.Verb, len(c.Members))
		}
		done, err := s.agent.Drain(ctx, c.Members[0], drain)
		return drained(&done), err
	}
	return "", fmt.Errorf("%q: an agent can be asked to resign, transfer, drain and undrain", c.Verb)
}

// drained says what became of a drain or an undrain.
func drained(d *api.Drained) string {
	if !d.Drained {
		return d.Member + " is not drained: its programs may lead"
	}
	text := fmt.Sprintf("%s is drained; groups that moved to other hosts: %d", d.Member, d.Moved)
	if none := len(d.Leaderless) + d.MoreLeaderless; none > 0 {
		text += fmt.Sprintf("; groups without a leader, because no program campaigns elsewhere: %d", none)
	}
	return text
}
