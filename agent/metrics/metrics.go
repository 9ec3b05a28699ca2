package metrics

import (
	"cmp"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/internal/names"
)

// A Source is what there is to measure: the agent.
type Source interface {
	Status() api.AgentStatus
	// Metrics yields those of the member.
	Metrics() iter.Seq[regent.Metric]
	// Groups returns all groups that are known, and Unheard what is known of one that is not.
	Groups() []api.GroupInfo
	Unheard(group string) *api.Change
	// LeadsHere says whether this host leads a group now, and for how long by its lease; TakesPart whether it takes part.
	LeadsHere(c *api.Change) (bool, time.Duration)
	TakesPart(c *api.Change) bool
	Role(group string) api.RoleInfo
	// Sessions lists the programs that take part, in all groups if that is empty.
	Sessions(group string) []api.SessionInfo
}

// A Collector gives Prometheus what the member and the agent know, when it is asked. It is an unchecked one: which groups
// there are is known only then.
type Collector struct {
	Source Source
	// AuditLost returns how many lines of the audit log were lost.
	AuditLost func() uint64
	// Connections returns how many connections over TCP found no room, and how many made room; false: the agent takes none.
	Connections func() (refused, evicted uint64, ok bool)
}

// Describe describes nothing, which makes the collector an unchecked one.
func (c *Collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends everything.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	to := sink(out)
	c.collectMember(to)
	c.collectGroups(to)
	c.collectAddresses(to)
	s := c.Source.Status()
	if group := s.DefaultGroup; group != "" {
		i := c.Source.Role(group)
		to.gauge("patroni_primary", "1 if a program here leads the default group; the name that Patroni uses", bit(i.Role == "primary"), "scope", group, "name", s.Name)
		to.gauge("patroni_cluster_unlocked", "1 if this member knows of no leader of the default group; the name that Patroni uses", bit(i.Name == ""), "scope", group, "name", s.Name)
	}
	to.gauge("regent_sessions", "programs that take part through this agent", float64(s.Sessions))
	to.gauge("regent_streams", "open event streams", float64(s.Streams))
	to.count("regent_audit_lost_total", "lines of the audit log that could not be written", float64(c.AuditLost()))
	if refused, evicted, ok := c.Connections(); ok {
		to.count("regent_connections_refused_total", "connections over TCP that found no room (limits.connections, limits.per_source)", float64(refused))
		to.count("regent_connections_evicted_total", "idle connections over TCP that were closed to make room for another", float64(evicted))
	}
}

// isLeader is a metric that the member has of its own groups, and the agent of all.
const isLeader = "regent_is_leader"

// collectMember sends what the member measures.
func (c *Collector) collectMember(to sink) {
	for x := range c.Source.Metrics() {
		switch {
		case x.Name == isLeader:
		case x.Buckets != nil:
			to.histogram(&x)
		case x.Counter:
			to.count(x.Name, x.Help, x.Value, x.Labels...)
		default:
			to.gauge(x.Name, x.Help, x.Value, x.Labels...)
		}
	}
}

// collectGroups sends what there is about groups.
func (c *Collector) collectGroups(to sink) {
	groups := c.Source.Groups()
	name := c.Source.Status().DefaultGroup
	if name != "" && !slices.ContainsFunc(groups, func(g api.GroupInfo) bool { return g.Group == name }) {
		groups = append(groups, api.GroupInfo{Change: *c.Source.Unheard(name)}) // nobody has led it yet, which is worth an alert
	}
	groups, over := c.current(groups, time.Now())
	for i := range groups {
		c.collectGroup(&groups[i], to)
	}
	to.gauge("regent_groups_over", "groups that nobody leads and in which this host takes no part", float64(over))
}

// collectAddresses sends what there is about the addresses that programs here have while they lead.
func (c *Collector) collectAddresses(to sink) {
	for _, s := range c.Source.Sessions("") {
		for _, a := range s.Addresses {
			to.gauge("regent_address_duplicate", "1 if another host answers for an address that this host has for the leader of the group, as of the last look", bit(s.Duplicates[a] != ""),
				"group", names.Label(s.Group), "address", a)
		}
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
func (c *Collector) current(groups []api.GroupInfo, now time.Time) (shown []api.GroupInfo, over int) {
	var ended []api.GroupInfo
	for _, g := range groups {
		if g.Leader != "" || c.Source.TakesPart(&g.Change) {
			shown = append(shown, g)
			continue
		}
		over++
		if now.Sub(g.At) < overFor {
			ended = append(ended, g)
		}
	}
	slices.SortFunc(ended, func(x, y api.GroupInfo) int { return cmp.Compare(y.Serial, x.Serial) })
	return append(shown, ended[:min(len(ended), maxOver)]...), over
}

// collectGroup sends what there is about a group. One that is over, because nobody leads it and nobody here takes part, has
// no more than its count: alerts that nobody leads would never end.
func (c *Collector) collectGroup(g *api.GroupInfo, to sink) {
	label := names.Label(g.Group)
	to.count("regent_leader_changes_total", "leaderships of the group that this member saw", float64(g.Changes), "group", label)
	takes := c.Source.TakesPart(&g.Change)
	if !takes && g.Leader == "" {
		return
	}
	gauge := func(name, help string, value float64) { to.gauge(name, help, value, "group", label) }
	leads, left := c.Source.LeadsHere(&g.Change)
	if takes && g.Mode != regent.Local {
		to.gauge("leader_election_master_status", "1 if this host leads the group, by a lease that runs now if it is a quorum group; only where the host takes part, and not of local groups; the name that client-go uses", bit(leads), "name", label)
	}
	gauge(isLeader, "1 if this host leads the group: in a quorum group a program of its own, by a lease that runs now", bit(leads))
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
