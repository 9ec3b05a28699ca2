//go:build linux

package library_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// A map of local leaders as the members tell of them.
type localMap struct {
	*folk
	// views is the last view of each member.
	views map[string]cluster.Event
	// reigns are leaderships that have ended, each with all the sets of members that supported it.
	reigns []reign
	led    map[string][][]string
}

type reign struct {
	leader       string
	since, until int64
	supports     [][]string
}

func newLocalMap(t *testing.T, named cluster.Named, names ...string) *localMap {
	f := newTown(t, func(o *cluster.Options) {
		o.Relay, o.Named, o.Groups = true, []cluster.Named{named}, 0
	}, names...)
	m := &localMap{folk: f, views: make(map[string]cluster.Event), led: make(map[string][][]string)}
	f.start(names...)
	f.joined(names...)
	return m
}

// take takes note of an event.
func (m *localMap) take(e *cluster.Event) {
	if !e.Local {
		return
	}
	switch e.What {
	case cluster.Saw:
		m.views[e.Member] = *e
		if e.View.Mine {
			m.led[e.Member] = append(m.led[e.Member], e.Support)
		}
	case cluster.Held:
		m.reigns = append(m.reigns, reign{e.Member, e.Since, e.Until, m.led[e.Member]})
		delete(m.led, e.Member)
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
	limit := time.After(20 * time.Second)
	for !slices.Equal(m.parts(), want) {
		select {
		case e := <-m.Events():
			m.note(&e)
			m.take(&e)
		case <-limit:
			m.t.Fatalf("waited too long for %q: there are %q", want, m.parts())
		}
	}
}

// always returns who supported a leadership from beginning to end.
func (r *reign) always() []string {
	var all []string
	for i, set := range r.supports {
		if i == 0 {
			all = slices.Clone(set)
		}
		all = slices.DeleteFunc(all, func(s string) bool { return !slices.Contains(set, s) })
	}
	return all
}

// judge fails if two that led at one instant had a supporter in common, and returns how many pairs led at one instant. It
// counts those who supported a leadership throughout, so that it is certain whom they supported at that instant.
func (m *localMap) judge() (pairs int) {
	m.t.Helper()
	for i := range m.reigns {
		for j := range m.reigns[:i] {
			a, b := &m.reigns[i], &m.reigns[j]
			if min(a.until, b.until) <= max(a.since, b.since) {
				continue
			}
			pairs++
			others := b.always()
			for _, s := range a.always() {
				if slices.Contains(others, s) {
					m.t.Errorf("%s supported %s and %s at one instant", s, a.leader, b.leader)
				}
			}
		}
	}
	return pairs
}

func TestProcessesThatAreCutApartHaveALocalLeaderInEachPart(t *testing.T) {
	m := newLocalMap(t, cluster.Named{Name: "cache", Mode: cluster.Local}, "a", "b", "c", "d", "e")
	m.settle("a: a b c d e")
	for range 2 {
		m.must(m.Part("c", "d", "e"))
		m.settle("a: a b", "c: c d e")
		m.must(m.HealAll())
		m.settle("a: a b c d e")
	}
	m.must(m.Crash("a"))
	delete(m.views, "a")
	m.settle("b: b c d e")
	m.must(m.Part("d", "e"))
	m.settle("b: b c", "d: d e")
	m.must(m.Pause("b")) // its lease ends while it sleeps
	m.settle("b: b c (c sees another)", "c: c", "d: d e")
	m.must(m.Resume("b"))
	m.settle("b: b c", "d: d e")
	m.must(m.HealAll())
	m.settle("b: b c d e")
	if pairs := m.judge(); pairs == 0 {
		t.Errorf("of %d leaderships no two were at one instant", len(m.reigns))
	}
}

// The part of a council that has no quorum is offered local leaders; the other keeps the real one.
func TestProcessesWithoutAQuorumHaveALocalLeaderBesideTheGroup(t *testing.T) {
	m := newLocalMap(t, cluster.Named{Name: "billing", Mode: cluster.Quorum, Beside: true}, "a", "b", "c", "d", "e")
	real := m.leader(0)
	m.settle()
	others := m.others(real.Member)
	m.must(m.Part(others[2:]...))
	m.settle(fmt.Sprintf("%s: %s", others[2], strings.Join(others[2:], " ")))
	m.must(m.HealAll())
	m.settle()
	if m.last.Token != real.Token {
		t.Errorf("the real leader has changed: %+v", m.last)
	}
}

// A member that finds out that its record is an old copy speaks as another incarnation from then on, and so do its machines.
func TestLocalGroupGoesOnWhenAMemberChangesItsIncarnation(t *testing.T) {
	m := newLocalMap(t, cluster.Named{Name: "cache", Mode: cluster.Local}, "a", "b", "c")
	m.settle("a: a b c")
	record := filepath.Join(m.Dir, "a", "record")
	old, err := os.ReadFile(record)
	m.must(err)
	m.must(m.Crash("a"))
	delete(m.views, "a")
	m.start("a")
	m.settle("a: a b c")
	m.must(m.Crash("a"))
	m.must(os.WriteFile(record, old, 0o600))
	delete(m.views, "a")
	m.start("a")
	m.settle("a: a b c")
}
