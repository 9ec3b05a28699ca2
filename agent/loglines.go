package agent

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// newLog returns the agent's log, as text or as JSON, and what writes the lines at the end that it has gathered.
func newLog(to io.Writer, format string, level *slog.LevelVar) (_ *slog.Logger, end func()) {
	var h slog.Handler = slog.NewTextHandler(to, &slog.HandlerOptions{Level: level})
	if format == "json" {
		h = slog.NewJSONHandler(to, &slog.HandlerOptions{Level: level, ReplaceAttr: withUnits})
	}
	g := &gatherer{Handler: h, shared: &gathered{pending: make(map[string]*incident)}}
	return slog.New(g), g.shared.end
}

// withUnits writes lengths of time as text, such as "5s". In JSON they would be numbers without a unit.
func withUnits(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		return slog.String(a.Key, a.Value.Duration().String())
	}
	return a
}

// gatherWindow is how long lines are gathered that report the same of several groups.
const gatherWindow = time.Second

// namesShown is how many groups such a line names.
const namesShown = 3

// A gatherer is a handler that writes one line for what happens to many groups at about the same time: the first group has a line at once, and all
// others that report the same within a second have one together. With level debug every group has its own.
type gatherer struct {
	slog.Handler
	shared *gathered
	prefix string // what was added by With
}

// gathered is what all loggers that are made of one share.
type gathered struct {
	mu      sync.Mutex
	pending map[string]*incident
}

// An incident is what happened to groups that have had no line yet. Lines of the same kind join it until a window passes without any.
type incident struct {
	to     slog.Handler
	count  int
	first  slog.Record
	groups []string
	seen   map[string]bool // all groups that the lines are about
	common []slog.Attr     // what is the same for all
}

func (g *gatherer) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &gatherer{g.Handler.WithAttrs(attrs), g.shared, g.prefix + fmt.Sprint(attrs)}
}

func (g *gatherer) WithGroup(name string) slog.Handler {
	return &gatherer{g.Handler.WithGroup(name), g.shared, g.prefix + name + "."}
}

func (g *gatherer) Handle(ctx context.Context, r slog.Record) error {
	key, ok := g.key(ctx, &r)
	if !ok {
		return g.Handler.Handle(ctx, r)
	}
	g.shared.mu.Lock()
	p := g.shared.pending[key]
	if p == nil {
		g.shared.open(key, g.Handler)
		g.shared.mu.Unlock()
		return g.Handler.Handle(ctx, r)
	}
	defer g.shared.mu.Unlock()
	p.add(r)
	return nil
}

// key returns what lines have in common that can be one; false if the line is not about one group. Lines of the audit log stay as they are.
func (g *gatherer) key(ctx context.Context, r *slog.Record) (string, bool) {
	if r.Message == "audit" || g.Enabled(ctx, slog.LevelDebug) {
		return "", false
	}
	ok, key := false, g.prefix+r.Level.String()+r.Message
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "group":
			ok = true
		case "cause", "leader", "how":
			key += "|" + a.String()
		}
		return true
	})
	return key, ok
}

// add adds a line.
func (p *incident) add(r slog.Record) {
	var all []slog.Attr
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != "group" {
			all = append(all, a)
		} else if group := a.Value.String(); !p.seen[group] {
			p.seen[group] = true
			if len(p.groups) < namesShown {
				p.groups = append(p.groups, group)
			}
		}
		return true
	})
	if p.count == 0 {
		p.first, p.common = r.Clone(), all
	}
	p.common = slices.DeleteFunc(p.common, func(a slog.Attr) bool {
		// Attr.Equal panics for lists.
		return !slices.ContainsFunc(all, func(b slog.Attr) bool { return a.String() == b.String() })
	})
	p.count++
}

// open begins to gather lines with a key. It is called with the lock held.
func (g *gathered) open(key string, to slog.Handler) {
	g.pending[key] = &incident{to: to, seen: make(map[string]bool)}
	time.AfterFunc(gatherWindow, func() { g.flush(key) })
}

// flush writes the line for what was gathered, and goes on gathering; it forgets the incident when there was nothing.
func (g *gathered) flush(key string) {
	g.mu.Lock()
	p := g.pending[key]
	delete(g.pending, key)
	if p != nil && p.count > 0 {
		g.open(key, p.to)
	}
	g.mu.Unlock()
	p.write()
}

// end writes all that was gathered.
func (g *gathered) end() {
	g.mu.Lock()
	all := g.pending
	g.pending = make(map[string]*incident)
	g.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		all[key].write()
	}
}

// write writes the line for an incident, unless nothing was gathered.
func (p *incident) write() {
	if p == nil || p.count == 0 {
		return
	}
	r := p.first
	if p.count > 1 {
		r = slog.NewRecord(p.first.Time, p.first.Level, p.first.Message, 0)
		if len(p.seen) == 1 {
			r.AddAttrs(slog.String("group", p.groups[0]))
		} else {
			r.AddAttrs(slog.Int("groups", len(p.seen)), slog.String("first", strings.Join(p.groups, ", ")))
		}
		if p.count > len(p.seen) { // some of them more than once
			r.AddAttrs(slog.Int("times", p.count))
		}
		r.AddAttrs(p.common...)
	}
	_ = p.to.Handle(context.Background(), r)
}
