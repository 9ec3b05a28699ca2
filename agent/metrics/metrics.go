package metrics

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/core"
)

// Collector gives Prometheus what the member and the agent know, when it is asked. It is an unchecked one: which groups
// there are is known only then.
type Collector struct {
	Agent *core.Agent
	// AuditLost returns how many lines of the audit log were lost.
	AuditLost func() uint64
	// Connections returns how many connections over TCP found no room, and how many made room; false: the agent takes none.
	Connections func() (refused, evicted uint64, ok bool)
}

// Describe describes nothing, which makes the collector an unchecked one.
func (c *Collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends everything.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	a := c.Agent
	put := func(kind prometheus.ValueType, name, help string, value float64, labels ...string) {
		names, values := make([]string, 0, len(labels)/2), make([]string, 0, len(labels)/2)
		for i := 0; i+1 < len(labels); i += 2 {
			names, values = append(names, labels[i]), append(values, labels[i+1])
		}
		m, err := prometheus.NewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, value, values...)
		if err == nil {
			out <- m
		}
	}
	gauge := func(name, help string, value float64, labels ...string) {
		put(prometheus.GaugeValue, name, help, value, labels...)
	}
	if m := a.Speaking(); m != nil {
		for x := range m.Metrics() {
			kind := prometheus.GaugeValue
			if x.Counter {
				kind = prometheus.CounterValue
			}
			put(kind, x.Name, x.Help, x.Value, x.Labels...)
		}
	} else if counts, ok := a.FoundingCounts(); ok {
		counts.Metrics(func(name, help string, value float64, labels ...string) {
			put(prometheus.CounterValue, name, help, value, labels...)
		})
	}
	groups, _ := a.ChangeLog.List("", "", 0)
	if name := a.Config().DefaultGroup; name != "" {
		if g, _ := a.ChangeLog.Group(name); g == nil { // nobody has led it yet, which is worth an alert
			groups = append(groups, &api.Change{View: regent.View{Mode: a.ModeOf(name), Group: name}})
		}
	}
	groups, over := c.current(groups, time.Now())
	for _, g := range groups {
		c.collectGroup(g, put)
	}
	gauge("regent_groups_over", "groups that nobody leads and in which this host takes no part", float64(over))
	if group := a.Config().DefaultGroup; group != "" {
		i := a.Role(group)
		gauge("patroni_primary", "1 if a program here leads the default group; the name that Patroni uses", bit(i.Role == "primary"), "scope", group, "name", a.Name)
		gauge("patroni_cluster_unlocked", "1 if this member knows of no leader of the default group; the name that Patroni uses", bit(i.Name == ""), "scope", group, "name", a.Name)
	}
	s := a.Status()
	gauge("regent_sessions", "programs that take part through this agent", float64(s.Sessions))
	gauge("regent_streams", "open event streams", float64(s.Streams))
	put(prometheus.CounterValue, "regent_audit_lost_total", "lines of the audit log that could not be written", float64(c.AuditLost()))
	if refused, evicted, ok := c.Connections(); ok {
		put(prometheus.CounterValue, "regent_connections_refused_total", "connections over TCP that found no room (limits.connections, limits.per_source)", float64(refused))
		put(prometheus.CounterValue, "regent_connections_evicted_total", "idle connections over TCP that were closed to make room for another", float64(evicted))
	}
}

const (
	// overFor is how long a group that is over has metrics: long enough for a scrape to see its last count.
	overFor = 15 * time.Minute
	// maxOver is how many groups that are over have metrics. Names of groups are invented by programs anywhere.
	maxOver = 100
)

// current returns the groups that have metrics, and how many are over: all that have a leader or in which this host takes part, and of
// those that are over the latest.
func (c *Collector) current(groups []*api.Change, now time.Time) (shown []*api.Change, over int) {
	var ended []*api.Change
	for _, g := range groups {
		if g.Leader != "" || c.Agent.TakesPart(g) {
			shown = append(shown, g)
			continue
		}
		over++
		if now.Sub(g.At) < overFor {
			ended = append(ended, g)
		}
	}
	slices.SortFunc(ended, func(x, y *api.Change) int { return cmp.Compare(y.Serial, x.Serial) })
	return append(shown, ended[:min(len(ended), maxOver)]...), over
}

// A metricSink takes a metric; labels are names and values in turn.
type metricSink func(kind prometheus.ValueType, name, help string, value float64, labels ...string)

// collectGroup sends what there is about a group. One that is over, because nobody leads it and nobody here takes part, has
// no more than its count: alerts that nobody leads would never end.
func (c *Collector) collectGroup(g *api.Change, put metricSink) {
	a := c.Agent
	_, changes := a.ChangeLog.Group(g.Group)
	put(prometheus.CounterValue, "regent_leader_changes_total", "leaderships of the group that this member saw", float64(changes), "group", g.Group)
	takes := a.TakesPart(g)
	if !takes && g.Leader == "" {
		return
	}
	gauge := func(name, help string, value float64) {
		put(prometheus.GaugeValue, name, help, value, "group", g.Group)
	}
	leads, left := a.LeadsHere(g)
	if takes && g.Mode != regent.Local {
		put(prometheus.GaugeValue, "leader_election_master_status", "1 if this host leads the group, by a lease that runs now if it is a quorum group; only where the host takes part, and not of local groups; the name that client-go uses", bit(leads), "name", g.Group)
	}
	gauge("regent_is_leader", "1 if this host leads the group: in a quorum group a program of its own, by a lease that runs now", bit(leads))
	gauge("regent_has_leader", "1 if this member knows of a leader of the group", bit(g.Leader != ""))
	if g.Mode != regent.Eventual {
		gauge("regent_lease_remaining_seconds", "how long the lease runs by which this host leads; 0 if it does not", left.Seconds())
	}
	switch g.Mode {
	case regent.Local:
		gauge("regent_support_size", "members that support the leader of a local group, as far as this member knows; 0 without a leader", float64(len(g.Support)))
	case regent.Quorum:
		gauge("regent_token", "the leader's token, as far as this member knows; 0 without a leader", float64(g.Token))
	}
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Handler returns what serves metrics.
func Handler(c *Collector) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(c, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}
