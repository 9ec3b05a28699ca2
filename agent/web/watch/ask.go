package watch

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/view"
)

const (
	// reportInterval is how often the members are asked while a page is open.
	reportInterval = 2 * time.Second
	// reportAge is how old the word of a member may be that does not answer any more.
	reportAge = 3 * reportInterval
	// groupWanted is for how long the members are asked about a group after a page has wanted to know, and groupsWanted of how many groups.
	groupWanted  = 10 * time.Second
	groupsWanted = 16
)

// reports are what the members say of themselves, and of the groups that pages show. All pages share one question to each member.
type reports struct {
	agent Agent

	// asking is held by the caller that asks the members.
	asking sync.Mutex

	mu sync.Mutex
	// at is when the members were asked last, and about are the groups.
	at    time.Time
	about []string
	// wanted is when a page last wanted to know about a group.
	wanted map[string]time.Time
	// said is the last word of each member, with when it came.
	said map[string]said
}

type said struct {
	api.Report
	at time.Time
}

func newReports(a Agent) *reports {
	return &reports{agent: a, wanted: make(map[string]time.Time), said: make(map[string]said)}
}

// keep asks the members again and again until ctx ends.
func (r *reports) keep(ctx context.Context) {
	for again := time.NewTicker(reportInterval); ; {
		r.refresh(ctx, reportInterval/2, "")
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return
		}
	}
}

// refresh asks the members unless they were asked about the group less than age ago. An empty group is any.
func (r *reports) refresh(ctx context.Context, age time.Duration, group string) {
	r.asking.Lock() // callers that come meanwhile get the same answer
	defer r.asking.Unlock()
	now := time.Now()
	r.mu.Lock()
	fresh := now.Sub(r.at) < age && (group == "" || slices.Contains(r.about, group))
	about := r.groups(now, group)
	r.mu.Unlock()
	if fresh {
		return
	}
	all := r.agent.Reports(context.WithoutCancel(ctx), about)
	now = time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at, r.about = now, about
	for i := range all {
		r.said[all[i].Status.Name] = said{all[i], now}
	}
	// order does not matter: each is looked at by itself
	for name, s := range r.said {
		if now.Sub(s.at) >= reportAge {
			delete(r.said, name)
		}
	}
}

// groups returns the groups to ask about. The one that is wanted now is among them, and of the others those that were wanted last.
func (r *reports) groups(now time.Time, group string) []string {
	if group != "" {
		r.wanted[group] = now
	}
	var out []string
	for name, at := range r.wanted {
		if now.Sub(at) >= groupWanted {
			delete(r.wanted, name)
		} else {
			out = append(out, name)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return r.wanted[b].Compare(r.wanted[a]) })
	return out[:min(len(out), groupsWanted)]
}

// views returns what all members say of a group that is no quorum group.
func (r *reports) views(ctx context.Context, group string) ([]view.MemberView, error) {
	r.refresh(ctx, pollAge, group)
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.about, group)
	var out []view.MemberView
	for _, m := range r.agent.Members() {
		v := view.MemberView{Member: m.Name}
		if s, ok := r.said[m.Name]; ok && i >= 0 && i < len(s.Views) && s.at.Equal(r.at) {
			v = s.Views[i]
			v.Member = m.Name
		}
		out = append(out, v)
	}
	return out, nil
}

// latest returns the last word of each member that has answered lately, by name.
func (r *reports) latest() map[string]api.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make(map[string]api.Report)
	for name, s := range r.said {
		if time.Since(s.at) < reportAge {
			out[name] = s.Report
		}
	}
	return out
}

// addReports adds what the other members said of themselves: how they hear one another, and their pauses.
func addReports(st *web.State, all map[string]api.Report) {
	for i := range st.Members {
		m := &st.Members[i]
		r, ok := all[m.Name]
		if !ok || m.Name == st.About.Self || m.State != web.Up {
			continue
		}
		tells(m, &r.Status)
		if m.Problem == "" {
			m.Problem = r.Status.Waiting
		}
		for j := range r.Members {
			if p := &r.Members[j]; !p.Self {
				st.Links = append(st.Links, link(&r.Status, p))
			}
		}
	}
}
