package agent

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/internal/session"
)

// A shardProgram takes part in a consistent group through its agent. It reports a recovery only when the test asks for that.
type shardProgram struct {
	host   string
	report chan struct{}

	mu sync.Mutex
	// views are all that it has seen, and in says whether it is in the group.
	views []regent.View
	in    bool
}

func (p *shardProgram) run(ctx context.Context, l *regent.Membership) error {
	p.set(func() { p.in = true })
	defer p.set(func() { p.in = false })
	for v := range l.Views(ctx) {
		p.set(func() { p.views = append(p.views, v) })
		if !v.Agreement.Recover {
			continue
		}
		if len(v.Agreement.Failed) > 0 {
			select {
			case <-p.report:
			case <-ctx.Done():
				return nil
			}
		}
		_ = l.Recovered(ctx, v) // one that comes too late counts for nothing
	}
	<-ctx.Done()
	return nil
}

func (p *shardProgram) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// asked returns how often the program was asked to recover what a host has lost.
func (p *shardProgram) asked(host string) (n int) {
	p.set(func() {
		for _, v := range p.views {
			if v.Agreement.Recover && slices.Contains(v.Agreement.Failed, host) {
				n++
			}
		}
	})
	return n
}

// members returns those of the last view, and nothing while the program is out.
func (p *shardProgram) members() (s string) {
	p.set(func() {
		if p.in && len(p.views) > 0 {
			s = p.views[len(p.views)-1].Agreement.String()
		}
	})
	return s
}

const consistentConfig = "groups: [{name: shards, mode: consistent}]\nconsistent: true\nprofile: wan\nrealtime: false\n"

// When a host fails, the program of the manager is asked once to recover what it has lost. Nothing more is agreed on before that program has
// reported it, and all have the same views.
func TestManagersProgramRecoversAFailedHostThroughTheAgent(t *testing.T) {
	h := openOn(t, cluster.Open(t, cluster.Options{Names: hosts(3), Relay: true, Config: consistentConfig}))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	programs := make(map[string]*shardProgram)
	for _, r := range h.agents {
		p := &shardProgram{host: r.name, report: make(chan struct{})}
		programs[r.name] = p
		g := must(r.dialled(t).ConsistentGroup("shards"))
		running.Go(func() {
			if err := g.TakePart(ctx, p.run); err != nil {
				t.Errorf("the program of %s: %v", p.host, err)
			}
		})
	}
	agree := func(members string, hosts ...*testAgent) func() bool {
		return func() bool {
			return !slices.ContainsFunc(hosts, func(r *testAgent) bool { return programs[r.name].members() != members })
		}
	}
	settled := func(r *testAgent) bool {
		a, _ := viewOf(t, r, "shards")["agreement"].(map[string]any)
		return a != nil && a["recover"] == nil
	}
	cluster.Eventually(t, "all are members", func() bool {
		return agree("a, b, c", h.agents...)() && !slices.ContainsFunc(h.agents, func(r *testAgent) bool { return !settled(r) })
	})
	leader := text(viewOf(t, h.agents[0], "shards")["leader"])
	var manager *testAgent
	var rest []*testAgent
	for _, r := range h.agents {
		if r.name == leader {
			manager = r
		} else {
			rest = append(rest, r)
		}
	}
	failed, other := rest[1].name, rest[0]
	left := strings.Join(slices.Sorted(slices.Values([]string{manager.name, other.name})), ", ")
	if err := h.links.Cut(failed); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the rest agrees that it failed", agree(left, manager, other))
	cluster.Eventually(t, "the failed host's program is out", func() bool { return programs[failed].members() == "" })
	cluster.Eventually(t, "the manager's program is asked", func() bool { return programs[manager.name].asked(failed) > 0 })
	if err := h.links.HealAll(); err != nil {
		t.Fatal(err)
	}
	if settled(manager) {
		t.Error("the recovery counts as done before the program has reported it")
	}
	programs[manager.name].report <- struct{}{}
	cluster.Eventually(t, "all are members again", agree("a, b, c", h.agents...))
	for name, p := range programs {
		want := 0
		if name == manager.name {
			want = 1
		}
		if n := p.asked(failed); n != want {
			t.Errorf("the program of %s was asked %d times to recover %s, want %d", name, n, failed, want)
		}
	}
	sameViews(t, programs[manager.name], programs[other.name])
}

// A manager whose program ends without a report leaves the group: the next manager's program finds what is left to recover.
func TestNextManagersProgramRecoversWhatTheLastOneLeftUnfinished(t *testing.T) {
	h := openOn(t, cluster.Open(t, cluster.Options{Names: strings.Fields("a b c d e"), Relay: true, Config: consistentConfig}))
	programs := make(map[string]*shardProgram)
	clients := make(map[string]*regent.Client)
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { cancel(); running.Wait() })
	for _, r := range h.agents {
		p := &shardProgram{host: r.name, report: make(chan struct{})}
		programs[r.name], clients[r.name] = p, r.dialled(t)
		g := must(clients[r.name].ConsistentGroup("shards"))
		running.Go(func() { _ = g.TakePart(ctx, p.run) })
	}
	manager := func() string { return text(viewOf(t, h.agents[1], "shards")["leader"]) }
	cluster.Eventually(t, "all are members", func() bool {
		return !slices.ContainsFunc(h.agents, func(r *testAgent) bool { return programs[r.name].members() != "a, b, c, d, e" })
	})
	first := manager()
	failed := "e"
	if first == failed {
		failed = "d"
	}
	if err := h.links.Cut(failed); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the manager's program is asked", func() bool { return programs[first].asked(failed) > 0 })
	_ = clients[first].Close() // its program is gone, and has reported nothing
	cluster.Eventually(t, "the next manager's program finds what is unfinished", func() bool {
		for name, p := range programs {
			found := false
			p.set(func() {
				found = slices.ContainsFunc(p.views, func(v regent.View) bool {
					return v.Agreement.Recover && slices.Contains(v.Agreement.Unfinished, failed)
				})
			})
			if found && name != first {
				return true
			}
		}
		return false
	})
}

// sameViews compares what two programs have seen that were in all along.
func sameViews(t *testing.T, programs ...*shardProgram) {
	t.Helper()
	type key struct{ token, number uint64 }
	seen := make(map[key]string)
	for _, p := range programs {
		p.set(func() {
			for _, v := range p.views {
				k, what := key{v.Token, v.Agreement.Number}, v.Leader+": "+v.Agreement.String()+" without "+strings.Join(v.Agreement.Failed, " ")
				if old, ok := seen[k]; ok && old != what {
					t.Errorf("agreement %v is %q at %s, and %q elsewhere", k, what, p.host, old)
				}
				seen[k] = what
			}
		})
	}
}

// A program reports only what it was asked to recover. Those that can report nothing take no part, and everybody sees the group.
func TestReportsOfRecoveriesThatNobodyAskedForAreRefused(t *testing.T) {
	h := open(t, 1, "groups: [{name: shards, mode: consistent}]\nconsistent: true\n")
	a := h.agents[0]
	l, err := a.dial(t).Campaign(patience(t), session.Candidate{Group: "shards", Mode: regent.Consistent})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "HTTP shows the agreement", func() bool {
		v := viewOf(t, a, "shards")
		agreement, _ := v["agreement"].(map[string]any)
		return v["mode"] == "consistent" && v["leader"] == "a" && agreement != nil
	})
	if l.Token() == 0 || l.First().Agreement == nil || l.First().Agreement.String() != "a" {
		t.Errorf("it was taken in by %d: %v", l.Token(), l.First())
	}
	if err := l.Recovered(patience(t), l.Token(), 1<<40); err == nil || !strings.Contains(err.Error(), "was not asked to recover") {
		t.Errorf("a recovery that nobody asked for: %v", err)
	}
	if _, err := l.Edict(patience(t)); err == nil {
		t.Error("a member of a consistent group stamps an order")
	}
	for path, want := range map[string]string{
		`/v1/groups/shards/campaign {"mode":"consistent"}`: "a member must report what it has recovered",
		`/v1/groups/shards/campaign {}`:                    "take part with mode consistent",
		`/v1/groups/shards/resign {}`:                      "agree on their manager",
	} {
		where, body, _ := strings.Cut(path, " ")
		if status, answer := a.do(t, "POST", where, body); status != 409 && status != 400 || !strings.Contains(text(answer["error"]), want) {
			t.Errorf("%s: %d %v, want %q", path, status, answer, want)
		}
	}
	if err := l.Resign(patience(t)); err != nil {
		t.Fatal(err)
	}
	if err := l.Recovered(patience(t), l.Token(), 1); err == nil {
		t.Error("a program that has left reports a recovery")
	}
	cluster.Eventually(t, "the host is out", func() bool { return viewOf(t, a, "shards")["agreement"] == nil })
}
