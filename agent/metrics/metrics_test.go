package metrics

import (
	"fmt"
	"iter"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/agent/core/coretest"
)

// page returns what a collector serves as text.
func page(c *Collector) string {
	w := httptest.NewRecorder()
	Handler(c).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func collectorOf(s Source) *Collector {
	return &Collector{Source: s, AuditLost: func() uint64 { return 1 }, Connections: func() (uint64, uint64, bool) { return 2, 3, true }}
}

// invent has many groups led, and then led by nobody.
func invent(a *core.Agent, n int) {
	for i := range n {
		name := fmt.Sprintf("%s-%d", strings.Repeat("x", 240), i)
		a.ChangeLog.AddView(regent.View{Mode: regent.Quorum, Group: name, Leader: "b", Token: 1})
		a.ChangeLog.AddView(regent.View{Mode: regent.Quorum, Group: name})
	}
}

// Programs anywhere may invent names of groups: what each leaves in the metrics of every host must be bounded, in number and in time.
func TestInventedGroupsDoNotFillTheMetrics(t *testing.T) {
	a := coretest.Idle(t, "")
	c := collectorOf(a)
	before := len(page(c))
	invent(a, 2000)
	if grown := len(page(c)) - before; grown > 64<<10 {
		t.Errorf("2,000 groups that are over left %d bytes in the metrics", grown)
	}
	groups := a.Groups()
	if shown, over := c.current(groups, time.Now()); len(shown) != maxOver || over != 2000 || shown[0].Serial != 4000 {
		t.Errorf("%d of %d groups are shown, the first with serial %d", len(shown), over, shown[0].Serial)
	}
	if shown, _ := c.current(groups, time.Now().Add(overFor)); len(shown) != 0 {
		t.Errorf("%d groups are shown after %v", len(shown), overFor)
	}
}

// The page is as the linter of Prometheus wants it, which promtool asks as well, and every metric but those of other programs' names is of
// regent_*.
func TestNamesAreAsPrometheusWantsThem(t *testing.T) {
	a := coretest.Joined(t, "default_group: g\n")
	a.ChangeLog.AddView(regent.View{Mode: regent.Quorum, Group: "g", Leader: "a", Token: 1})
	text := page(collectorOf(a))
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	foreign := []string{"leader_election_master_status", "patroni_cluster_unlocked", "patroni_primary"}
	for line := range strings.Lines(text) {
		_, name, ok := strings.Cut(line, "# TYPE ")
		name, _, _ = strings.Cut(name, " ")
		if ok && !strings.HasPrefix(name, "regent_") && !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") &&
			!strings.HasPrefix(name, "promhttp_") && !slices.Contains(foreign, name) {
			t.Errorf("%s is not of regent_*, and of no other program whose names are kept", name)
		}
	}
}

// known is a source that knows groups, and no more.
type known struct {
	of
	groups []api.GroupInfo
}

func (k known) Groups() []api.GroupInfo { return k.groups }

// Groups of all modes have metrics that the linter accepts. A peer may send what is no name: it neither spoils the page nor reaches a terminal.
func TestGroupsOfAllModesHaveMetrics(t *testing.T) {
	var k known
	for _, m := range []regent.Mode{regent.Quorum, regent.Local, regent.Eventual, regent.Consistent} {
		for _, name := range []string{string(m), string(m) + "\x1b[2J\u202e\"\n}", string(m) + "\xff"} {
			k.groups = append(k.groups, api.GroupInfo{Change: api.Change{View: regent.View{Mode: m, Group: name, Leader: "a", Token: 1, Support: []string{"a"}, Value: "secret"}}})
		}
	}
	text := page(collectorOf(k))
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("the linter: %v, %v", err, problems)
	}
	if strings.ContainsAny(text, "\x1b\u202e") || strings.Contains(text, "\xff") || strings.Contains(text, "secret") {
		t.Errorf("the page shows characters or values that it must not:\n%s", text)
	}
	for _, m := range []string{"quorum", "local", "eventual", "consistent"} {
		for _, label := range []string{m + `"`, m + `\\x1b[2J`, m + `\\xff`} {
			if want := `regent_has_leader{group="` + label; !strings.Contains(text, want) {
				t.Errorf("no line begins with %s", want)
			}
		}
	}
	for metric, modes := range map[string]string{"regent_token": "quorum", "regent_support_size": "local", "regent_lease_remaining_seconds": "quorum local consistent"} {
		for _, m := range []string{"quorum", "local", "eventual", "consistent"} {
			if has := strings.Contains(text, metric+`{group="`+m+`"}`); has != strings.Contains(modes, m) {
				t.Errorf("a %s group has %s: %v", m, metric, has)
			}
		}
	}
}

// of is a source that has metrics of a member, and no more.
type of []regent.Metric

func (m of) Status() api.AgentStatus                     { return api.AgentStatus{} }
func (m of) Metrics() iter.Seq[regent.Metric]            { return slices.Values(m) }
func (m of) Groups() []api.GroupInfo                     { return nil }
func (m of) Unheard(string) *api.Change                  { return nil }
func (m of) LeadsHere(*api.Change) (bool, time.Duration) { return false, 0 }
func (m of) TakesPart(*api.Change) bool                  { return false }
func (m of) Role(string) api.RoleInfo                    { return api.RoleInfo{} }
func (m of) Sessions(string) []api.SessionInfo           { return nil }

// Pauses are a native histogram, and have buckets for those that read none. None is shown shorter than it was.
func TestPausesAreAHistogram(t *testing.T) {
	type bucket = struct {
		Upper float64
		Count uint64
	}
	x := regent.Metric{Name: "regent_pause_seconds", Help: "pauses", Value: 2.5, Buckets: []bucket{{0, 1}, {0.002, 4}, {1, 2}, {20, 1}}}
	r := prometheus.NewRegistry()
	r.MustRegister(collectorOf(of{x}))
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(f *dto.MetricFamily) bool { return f.GetName() == x.Name })
	if i < 0 {
		t.Fatal("there is none")
	}
	h := all[i].GetMetric()[0].GetHistogram()
	if h.GetSampleCount() != 8 || h.GetSampleSum() != 2.5 || h.GetSchema() != schema || h.GetZeroCount() != 1 {
		t.Errorf("histogram: %v", h)
	}
	index, n := int32(0), int64(0)
	var seen []string
	deltas := h.GetPositiveDelta()
	for _, s := range h.GetPositiveSpan() {
		index += s.GetOffset()
		for range s.GetLength() {
			n += deltas[0]
			deltas = deltas[1:]
			if n > 0 {
				seen = append(seen, fmt.Sprint(index, ":", n))
			}
			index++
		}
	}
	if got, want := strings.Join(seen, " "), "-71:4 0:2 35:1"; got != want {
		t.Errorf("native buckets %s, want %s", got, want)
	}
	for _, b := range h.GetBucket() {
		want := uint64(1)
		switch {
		case b.GetUpperBound() >= 1:
			want = 7
		case b.GetUpperBound() >= 0.003:
			want = 5
		}
		if b.GetCumulativeCount() != want {
			t.Errorf("%d pauses of at most %v s, want %d", b.GetCumulativeCount(), b.GetUpperBound(), want)
		}
	}
}
