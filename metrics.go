package regent

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/names"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/roster"
	"github.com/regentproject/regent/why"
)

// A Metric is one number, under a name and labels as Prometheus has them. It is for programs that join: whatever collects their
// metrics, this package does not depend on it. Agents serve the same ones.
type Metric struct {
	Name, Help string
	// Counter says that it only ever grows; otherwise it is a gauge.
	Counter bool
	// Labels are pairs of name and value.
	Labels []string
	Value  float64
	// Buckets, if there are any, make it a histogram, and Value the sum of what it counts. Each counts what is at most Upper, and above that of
	// the bucket before.
	Buckets []struct {
		Upper float64
		Count uint64
	}
}

// Metrics yields everything that is worth a graph or an alarm, for whatever collects it. Metrics of one name come one
// after the other.
func (m *Member) Metrics() iter.Seq[Metric] {
	return func(yield func(Metric) bool) {
		g := gauges{yield: yield}
		s := m.Status()
		m.groupTable.Groups(func(group *runtime.Group) {
			// Groups that nobody leads are left out: programs anywhere may invent names, and the table keeps them.
			if c := group.Latest(); c != nil && !isConsistent(c.Group) && m.council().name(c.Leader.Rank) != "" {
				g.put("regent_is_leader", "1 if a program of this member leads the group", bit(c.Tenure != 0), "group", names.Label(string(c.Group)))
			}
		})
		for w := range m.causes {
			if n := m.causes[w].Load(); n > 0 {
				g.count("regent_changes_total", "changes of leader that this member saw, by cause", float64(n), "cause", why.Kind(w).String())
			}
		}
		g.put("regent_leading", "groups that programs of this member lead", float64(s.Leading))
		g.put("regent_ready", "1 if the member takes part", bit(s.Waiting == ""))
		g.put("regent_disk_ok", "1 if the durable record can be written", bit(s.Disk == ""))
		g.put("regent_clock_ok", "1 if the clock runs at the rate of the others", bit(!s.ClockFault))
		g.put("regent_accessible", "0 while electors find no member that has good links with all others", bit(!s.NoAccess))
		for _, reason := range []string{nerio.Unproven, nerio.Rival, nerio.Behind} {
			g.count("regent_accusations_total", "words of peers on later incarnations of this member that it did not act on", float64(m.accused.counts(reason)), "reason", reason)
		}
		g.put("regent_healthy", "1 if the member is fit to lead", bit(s.HealthProblem == ""))
		g.put("regent_guardian", "1 if a guardian watches the member's process", bit(s.Guardian))
		g.put("regent_drained", "1 if an operator keeps the member from leading", bit(s.Drained))
		g.count("regent_stray_messages_total", "messages for groups that are not open here", float64(m.loop.Stats().Strays.Load()))
		g.put("regent_incarnation", "number of this start of the member", float64(s.Incarnation))
		g.add(m.pauses())
		g.put("regent_longest_pause_seconds", "by how much the member woke up too late at most, since its start", s.PauseLongest.Seconds())
		packets := runtime.PacketCounts{PacketsIn: s.PacketsIn, PacketsOut: s.PacketsOut, BytesIn: s.BytesIn, BytesOut: s.BytesOut, Dropped: s.Dropped}
		packets.Metrics(g.count)
		if s.Engine == nil {
			g.council(m.Council())
		}
		peers := m.Members()
		for _, p := range peers {
			g.put("regent_peer_silence_seconds", "for how long a member was not heard", p.Silence.Seconds(), "peer", p.Name)
		}
		for _, p := range peers {
			g.put("regent_peer_trusted", "1 if a member counts as alive", bit(p.Trusted), "peer", p.Name)
		}
		for _, p := range peers {
			g.put("regent_peer_deaf", "1 if a member is heard and does not hear this one", bit(p.Deaf), "peer", p.Name)
		}
		for _, p := range peers {
			g.put("regent_peer_drained", "1 if an operator keeps a member from leading", bit(p.Drained), "peer", p.Name)
		}
		for _, p := range peers {
			g.put("regent_peer_round_trip_seconds", "smoothed round trip to a member", p.RoundTrip.Seconds(), "peer", p.Name)
		}
		for _, p := range peers {
			if p.RateKnown {
				g.put("regent_clock_rate_error", "by what share a member's clock runs at another rate than this one's, at most", max(-p.RateLow, p.RateHigh), "peer", p.Name)
			}
		}
	}
}

// council hands the metrics of the council on.
func (g *gauges) council(c roster.Council) {
	if len(c.Members) == 0 {
		return // the member is closed
	}
	g.put("regent_council_number", "number of the configuration of the council that this member has", float64(c.Number))
	g.put("regent_council_settled", "1 if no promise of an earlier configuration can stand, so that the next step can follow", bit(c.Settled))
	for _, phase := range roster.Phases() {
		g.put("regent_council_change", "1 for the phase that the running change of the council is in; 0 for all if none is running", bit(c.Phase == phase), "phase", strings.ReplaceAll(string(phase), " ", "_"))
	}
	for _, p := range c.Members {
		g.put("regent_council_waits_for", "1 if the running change waits for the member", bit(slices.Contains(c.WaitsFor, p.Name)), "peer", p.Name)
	}
	for _, role := range []string{"voter", "witness", "observer"} {
		n := 0
		for i := range c.Members {
			if cmp.Or(roleOf(&c.Members[i].Peer), "voter") == role {
				n++
			}
		}
		g.put("regent_council_members", "members of the council, by what they do: voters may lead, witnesses only vote, observers do neither", float64(n), "role", role)
	}
	g.put("regent_council_given_up", "1 if the council goes on from one that lost a majority for good, and nobody has acknowledged that yet", bit(c.GivenUp != nil && !c.GivenUp.Acknowledged))
	g.put("regent_council_file_differs", "1 if the list of members, the longest lease or the drift in the configuration of this member differs from the council", bit(c.FileDiffers != ""))
}

// pauses returns the histogram of pauses.
func (m *Member) pauses() Metric {
	type bucket = struct {
		Upper float64
		Count uint64
	}
	late := &m.loop.Stats().Late
	out := Metric{Name: "regent_pause_seconds", Help: "by how much the member woke up too late", Value: late.Sum().Seconds()}
	out.Buckets = make([]bucket, 0)
	late.Buckets(func(longest time.Duration, n uint64) {
		out.Buckets = append(out.Buckets, bucket{longest.Seconds(), n})
	})
	return out
}

// gauges hands metrics on until nobody wants more.
type gauges struct {
	yield func(Metric) bool
	done  bool
}

func (g *gauges) put(name, help string, value float64, labels ...string) {
	g.add(Metric{Name: name, Help: help, Value: value, Labels: labels})
}

func (g *gauges) count(name, help string, value float64, labels ...string) {
	g.add(Metric{Name: name, Help: help, Value: value, Labels: labels, Counter: true})
}

func (g *gauges) add(m Metric) {
	g.done = g.done || !g.yield(m)
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// String shows the metric as a line of Prometheus' text format, and a histogram by its sum.
func (m Metric) String() string {
	var b strings.Builder
	b.WriteString(m.Name)
	if m.Buckets != nil {
		b.WriteString("_sum")
	}
	for i := 0; i+1 < len(m.Labels); i += 2 {
		sep := ","
		if i == 0 {
			sep = "{"
		}
		fmt.Fprintf(&b, "%s%s=%s", sep, m.Labels[i], strconv.Quote(m.Labels[i+1]))
	}
	if len(m.Labels) > 1 {
		b.WriteString("}")
	}
	fmt.Fprintf(&b, " %v", m.Value)
	return b.String()
}
