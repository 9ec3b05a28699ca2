package agent

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }

// collector gives Prometheus what the member and the agent know, when it is asked. It is an unchecked one: which groups
// there are is known only then.
type collector struct{ agent *Agent }

// Describe describes nothing, which makes the collector an unchecked one.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends everything.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	a := c.agent
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
	if m := a.joining.Load(); m != nil {
		for x := range m.Metrics() {
			kind := prometheus.GaugeValue
			if x.Counter {
				kind = prometheus.CounterValue
			}
			put(kind, x.Name, x.Help, x.Value, x.Labels...)
		}
	}
	groups, _ := a.board.list("", "", 0)
	for _, g := range groups {
		leads, left := 0.0, 0.0
		if k := a.leader(g.Group); k != nil && k.leadsNow() {
			leads, left = 1, k.remaining().Seconds()
		}
		_, changes := a.board.group(g.Group)
		gauge("leader_election_master_status", "1 if a program here leads the group, by a lease that runs now; the name that client-go uses", leads, "name", g.Group)
		gauge("regent_is_leader", "1 if a program here leads the group, by a lease that runs now", leads, "group", g.Group)
		gauge("regent_has_leader", "1 if this member knows of a leader of the group", bit(g.Leader != ""), "group", g.Group)
		put(prometheus.CounterValue, "regent_leader_changes_total", "leaderships of the group that this member saw", float64(changes), "group", g.Group)
		gauge("regent_lease_remaining_seconds", "how long the lease of the program here that leads runs; 0 if none does", left, "group", g.Group)
		if g.Mode == modeLocal {
			gauge("regent_support_size", "members that support the leader of a local group, as far as this member knows; 0 without a leader", float64(len(g.Support)), "group", g.Group)
		}
		gauge("regent_token", "the leader's token, as far as this member knows; 0 without a leader", float64(g.Token), "group", g.Group)
	}
	if group := a.file.Load().DefaultGroup; group != "" {
		i := a.role(group)
		gauge("patroni_primary", "1 if a program here leads the default group; the name that Patroni uses", bit(i.Role == "primary"), "scope", group, "name", a.name)
		gauge("patroni_cluster_unlocked", "1 if this member knows of no leader of the default group; the name that Patroni uses", bit(i.Name == ""), "scope", group, "name", a.name)
	}
	s := a.Status()
	gauge("regent_sessions", "programs that take part through this agent", float64(s.Sessions))
	gauge("regent_streams", "open event streams", float64(s.Streams))
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (a *Agent) serveMetrics(w http.ResponseWriter, q *http.Request) {
	a.metrics.ServeHTTP(w, q)
}

// newMetrics returns what serves metrics.
func newMetrics(a *Agent) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(&collector{agent: a}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}
