//go:build linux

package library_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/cluster/journal"
)

// A localMap is a cluster with what its members see of local leaders.
type localMap struct {
	*cluster.Watch
	t *testing.T
	// views is the last view of each member.
	views map[string]cluster.Event
}

func newLocalMap(t *testing.T, group cluster.Group, names ...string) *localMap {
	w := newWatch(t, func(o *cluster.Options) { o.Relay, o.Groups = true, []cluster.Group{group} }, names...)
	m := &localMap{Watch: w, t: t, views: make(map[string]cluster.Event)}
	w.Each = m.take
	w.BeginAll()
	return m
}

// take takes note of an event.
func (m *localMap) take(e *cluster.Event) {
	if e.Local && e.What == cluster.Saw {
		m.views[e.Member] = *e
	}
}

// parts shows who leads whom, such as "a: a b", as far as all in it agree.
func (m *localMap) parts() []string {
	var parts []string
	for _, name := range m.Names {
		v := m.views[name]
		if v.View == nil || v.View.Leader != name || !v.View.Mine {
			continue
		}
		part := name + ": " + strings.Join(v.Support, " ")
		for _, s := range v.Support {
			if o := m.views[s]; o.View == nil || o.View.Leader != name || !slices.Equal(o.Support, v.Support) {
				part += fmt.Sprintf(" (%s sees another)", s)
			}
		}
		parts = append(parts, part)
	}
	return parts
}

// settle waits until the members are in exactly these parts.
func (m *localMap) settle(want ...string) {
	m.t.Helper()
	if slices.Equal(m.parts(), want) {
		return
	}
	m.Await(fmt.Sprintf("the parts %q", want), func(*cluster.Event) bool { return slices.Equal(m.parts(), want) })
}

func TestProcessesThatAreCutApartHaveALocalLeaderInEachPart(t *testing.T) {
	t.Parallel()
	m := newLocalMap(t, cluster.Group{Name: "cache", Mode: regent.Local}, "a", "b", "c", "d", "e")
	m.settle("a: a b c d e")
	for range 2 {
		m.Must(m.Part("c", "d", "e"))
		m.settle("a: a b", "c: c d e")
		m.Must(m.HealAll())
		m.settle("a: a b c d e")
	}
	m.Must(m.Crash("a"))
	delete(m.views, "a")
	m.settle("b: b c d e")
	m.Must(m.Part("d", "e"))
	m.settle("b: b c", "d: d e")
	m.Must(m.Pause("b")) // its lease ends while it sleeps
	m.settle("b: b c (c sees another)", "c: c", "d: d e")
	m.Must(m.Resume("b"))
	m.settle("b: b c", "d: d e")
	m.Must(m.HealAll())
	m.settle("b: b c d e")
	if rep := m.Judge(t, 0, cluster.Rules{Together: journal.LocalApart}); rep.Allowed == 0 {
		t.Errorf("of %d leaderships no two were at one instant: nothing is proven", len(rep.Spans))
	}
}

// The part of a council that has no quorum is offered local leaders; the other keeps the real one.
func TestProcessesWithoutAQuorumHaveALocalLeaderBesideTheGroup(t *testing.T) {
	t.Parallel()
	m := newLocalMap(t, cluster.Group{Name: "billing", Mode: regent.Quorum, Beside: true}, "a", "b", "c", "d", "e")
	real := m.Leader(0)
	m.settle()
	others := m.Others(real.Member)
	m.Must(m.Part(others[2:]...))
	m.settle(fmt.Sprintf("%s: %s", others[2], strings.Join(others[2:], " ")))
	m.Must(m.HealAll())
	m.settle()
	if m.Last.Token != real.Token {
		t.Errorf("the real leader has changed: %+v", m.Last)
	}
}

// A member that finds out that its record is an old copy speaks as another incarnation from then on, and so do its machines.
func TestLocalGroupGoesOnWhenAMemberChangesItsIncarnation(t *testing.T) {
	t.Parallel()
	m := newLocalMap(t, cluster.Group{Name: "cache", Mode: regent.Local}, "a", "b", "c")
	m.settle("a: a b c")
	record := filepath.Join(m.Dir, "a", "record")
	old, err := os.ReadFile(record)
	m.Must(err)
	m.Must(m.Crash("a"))
	delete(m.views, "a")
	m.Begin("a")
	m.settle("a: a b c")
	m.Must(m.Crash("a"))
	m.Must(os.WriteFile(record, old, 0o600))
	delete(m.views, "a")
	m.Begin("a")
	m.settle("a: a b c")
}
