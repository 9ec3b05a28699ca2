package agent

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/internal/tenure"
)

// GroupInfo is what is known about a group.
type GroupInfo struct {
	Change
	// Changes counts the leaderships that this agent saw.
	Changes uint64 `json:"changes"`
	// Remaining is how long the lease runs, if a program here leads, or this host in a local group; in nanoseconds, at the
	// time of the answer.
	Remaining time.Duration `json:"remaining,omitempty"`
	// Candidates are the programs here that take part.
	Candidates []SessionInfo `json:"candidates,omitempty"`
}

// GroupList is a page of groups.
type GroupList struct {
	Groups []GroupInfo `json:"groups"`
	// Next is the name to go on after; empty if that was all.
	Next string `json:"next,omitempty"`
}

// SessionInfo is a program that takes part through this agent.
type SessionInfo struct {
	ID      uint64 `json:"id"`
	Group   string `json:"group"`
	Program string `json:"program,omitempty"`
	Via     string `json:"via"`
	Pid     int    `json:"pid,omitempty"`
	// State is waiting, leading or stopping.
	State string        `json:"state"`
	Token uint64        `json:"token,omitempty"`
	Since time.Time     `json:"since"`
	Left  time.Duration `json:"remaining,omitempty"`
}

// SessionList is all of them.
type SessionList struct {
	Sessions []SessionInfo `json:"sessions"`
}

// MemberInfo is what this member knows of a member of the council. All lengths are in nanoseconds.
type MemberInfo struct {
	Name string `json:"name"`
	Self bool   `json:"self"`
	// Role is "witness", which votes and never leads, or "observer", which has no vote; empty for others.
	Role string `json:"role,omitempty"`
	Addr string `json:"addr,omitempty"`
	// Heard says that it was heard, Silence how long ago.
	Heard       bool          `json:"heard"`
	Silence     time.Duration `json:"silence"`
	Incarnation uint64        `json:"incarnation"`
	// Trusted says that it counts as alive: a member that falls silent is no longer trusted within a moment. No lease depends
	// on it.
	Trusted   bool          `json:"trusted"`
	RoundTrip time.Duration `json:"round_trip"`
	// Bound is the proven bound on the delay of its last packet, Fast whether that counts as fast.
	Bound time.Duration `json:"bound"`
	Fast  bool          `json:"fast"`
	// Deaf says that it is heard and does not hear this member, Unconfirmed for how long it has confirmed nothing.
	Deaf        bool          `json:"deaf"`
	Unconfirmed time.Duration `json:"unconfirmed"`
	// Key begins the fingerprint of the key that it used last, or of the newest of this member itself. KeyProblem says that it does not list the newest of this member.
	Key        string `json:"key,omitempty"`
	KeyProblem string `json:"key_problem,omitempty"`
	// Revoked says that it has no key here.
	Revoked bool `json:"revoked,omitempty"`
	// Problem is why it does not count.
	Problem string `json:"problem,omitempty"`
}

// MemberList is the council.
type MemberList struct {
	Members []MemberInfo `json:"members"`
	// Waiting says what keeps this member from taking part; empty if nothing does.
	Waiting string `json:"waiting,omitempty"`
}

// History is what changed lately, oldest first.
type History struct {
	Changes []Change `json:"changes"`
}

// StatusInfo is how the agent and its member are.
type StatusInfo struct {
	Member      string    `json:"member"`
	Version     string    `json:"version,omitempty"`
	Pid         int       `json:"pid"`
	Started     time.Time `json:"started"`
	Joined      bool      `json:"joined"`
	Incarnation uint64    `json:"incarnation"`
	// Council is the id of the council; empty before the member knows it. The agent gives it on the unix socket only: where a council has
	// no key, the id keeps other users of the host from speaking for its members.
	Council string `json:"council,omitempty"`
	// Waiting says what keeps the member from taking part, Disk why its record cannot be written.
	Waiting    string `json:"waiting,omitempty"`
	Disk       string `json:"disk,omitempty"`
	ClockFault bool   `json:"clock_fault"`
	// Accused is what a member said of a later incarnation of this one, which did not act on it.
	Accused string `json:"accused,omitempty"`
	// Unlisted names hosts, with their addresses, that have the cluster key and that this member's council does not list.
	Unlisted []string `json:"unlisted,omitempty"`
	Realtime bool     `json:"realtime"`
	// Pauses says by how much the member woke up too late, in nanoseconds.
	Pauses   PauseInfo `json:"pauses"`
	Leading  int       `json:"leading"`
	Groups   int       `json:"groups"`
	Sessions int       `json:"sessions"`
	Streams  int64     `json:"streams"`
	// Timing are the constants in force, in nanoseconds.
	Timing       TimingInfo        `json:"timing"`
	DefaultGroup string            `json:"default_group,omitempty"`
	PacketsIn    uint64            `json:"packets_in"`
	PacketsOut   uint64            `json:"packets_out"`
	BytesIn      uint64            `json:"bytes_in"`
	BytesOut     uint64            `json:"bytes_out"`
	Dropped      map[string]uint64 `json:"dropped,omitempty"`
	// Stopping says that the agent is on its way out.
	Stopping bool `json:"stopping"`
}

// PauseInfo is of StatusInfo.
type PauseInfo struct {
	Count   uint64        `json:"count"`
	Median  time.Duration `json:"median"`
	P99     time.Duration `json:"p99"`
	Longest time.Duration `json:"longest"`
}

// TimingInfo is of StatusInfo.
type TimingInfo struct {
	Lease     time.Duration `json:"lease"`
	Renew     time.Duration `json:"renew"`
	Guard     time.Duration `json:"guard"`
	RoundTrip time.Duration `json:"round_trip"`
	Delay     time.Duration `json:"delay"`
	Drift     float64       `json:"drift"`
}

// ProofInfo says who leads, proven.
type ProofInfo struct {
	Group  string `json:"group"`
	Leader string `json:"leader"`
	Token  uint64 `json:"token"`
	// ValidFor is how long the proof holds, in nanoseconds, counted from when the question was sent.
	ValidFor time.Duration `json:"valid_for"`
}

// Health says that the agent answers, or is ready.
type Health struct {
	OK  bool   `json:"ok"`
	Why string `json:"why,omitempty"`
}

// readRoutes are the routes that change nothing.
func readRoutes() []route {
	return []route{
		{method: "GET", path: "/v1/status", requires: reader, summary: "How the agent and its member are.", out: map[int]any{200: StatusInfo{}},
			serve: (*Agent).serveStatus},
		{method: "GET", path: "/v1/members", requires: reader, summary: "The council, as this member knows it, in the order in which members go first.",
			out: map[int]any{200: MemberList{}, 503: Refusal{}}, serve: (*Agent).serveMembers},
		{method: "GET", path: "/v1/groups", requires: reader, summary: "All groups that were heard of, by name.", out: map[int]any{200: GroupList{}, 400: Refusal{}},
			query: map[string]string{"prefix": "how the names begin", "after": "the name to go on after", "limit": "how many at most; 1000 if not given"},
			serve: (*Agent).serveGroups},
		{method: "GET", path: "/v1/groups/{group}", requires: reader, summary: "One group: who leads it as far as this member knows, and the programs here that take part.",
			out: map[int]any{200: GroupInfo{}, 404: Refusal{}}, serve: (*Agent).serveGroup},
		{method: "GET", path: "/v1/groups/{group}/history", requires: reader, summary: "The last changes of a group, with their causes, oldest first.",
			out: map[int]any{200: History{}, 400: Refusal{}, 404: Refusal{}}, query: map[string]string{"limit": "how many at most; 100 if not given"}, serve: (*Agent).serveHistory},
		{method: "GET", path: "/v1/history", requires: reader, summary: "The last changes of all groups, with their causes, oldest first.",
			out: map[int]any{200: History{}, 400: Refusal{}}, query: map[string]string{"limit": "how many at most; 100 if not given"}, serve: (*Agent).serveHistory},
		{method: "GET", path: "/v1/groups/{group}/verify", requires: reader, summary: "Ask the leader itself whether it leads: a proof, or 503.",
			out: map[int]any{200: ProofInfo{}, 404: Refusal{}, 409: Refusal{}, 503: Refusal{}}, serve: (*Agent).serveVerify},
		{method: "GET", path: "/v1/sessions", requires: reader, summary: "The programs that take part through this agent.", out: map[int]any{200: SessionList{}},
			serve: func(a *Agent, w http.ResponseWriter, q *http.Request) {
				may := a.readable(q)
				writeJSON(w, http.StatusOK, SessionList{Sessions: slices.DeleteFunc(a.sessions(""), func(i SessionInfo) bool { return !may(i.Group) })})
			}},
		{method: "GET", path: "/v1/openapi.json", summary: "This description.", out: map[int]any{200: map[string]any{}},
			serve: func(_ *Agent, w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(Description())
			}},
		{method: "GET", path: "/healthz", summary: "200 while the agent answers.", out: map[int]any{200: Health{}},
			serve: func(_ *Agent, w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, Health{OK: true}) }},
		{method: "GET", path: "/readyz", summary: "200 while the member takes part and nothing is wrong with its clock and its disk.",
			out: map[int]any{200: Health{}, 503: Health{}}, serve: (*Agent).serveReady},
		{method: "GET", path: "/metrics", requires: reader, all: true, summary: "For Prometheus, as text.", out: map[int]any{200: ""}, serve: (*Agent).serveMetrics},
	}
}

// Status returns how the agent and its member are, without the id of the council.
func (a *Agent) Status() StatusInfo {
	t := &a.timing
	a.mu.Lock()
	out := StatusInfo{Member: a.name, Version: a.options.Version, Pid: os.Getpid(), Started: a.started, Groups: len(a.groups), Sessions: len(a.candidates), Stopping: a.closing}
	a.mu.Unlock()
	out.Streams, out.DefaultGroup = a.streams.Load(), a.file.Load().DefaultGroup
	out.Timing = TimingInfo{Lease: t.Lease, Renew: t.Renew, Guard: t.Guard, RoundTrip: t.RoundTrip, Delay: t.Delay, Drift: t.Drift}
	m := a.joining.Load()
	if m == nil {
		out.Waiting = "it is being started"
		if f := a.founding.Load(); f != nil {
			out.Waiting = f.waiting
			c := f.counts()
			out.PacketsIn, out.PacketsOut, out.BytesIn, out.BytesOut, out.Dropped = c.PacketsIn, c.PacketsOut, c.BytesIn, c.BytesOut, c.Dropped
		}
		return out
	}
	s, _, at := a.statusCache.get(m)
	switch joined := a.joinedAt.Load(); {
	case joined != nil && s.Incarnation == 0 && at.Before(*joined): // what was seen is of a moment before
		s.Waiting = ""
	case joined != nil && s.Incarnation == 0 && s.Waiting == "":
		s.Waiting = "it has no incarnation"
	case joined != nil:
	case s.Waiting == "":
		s.Waiting = "it is about to"
	}
	out.Joined, out.Incarnation, out.Waiting, out.Disk, out.ClockFault = s.Waiting == "", s.Incarnation, s.Waiting, s.Disk, s.ClockFault
	out.Accused, out.Unlisted = s.Accused, s.Unlisted
	out.Realtime, out.Leading = s.Realtime, s.Leading
	out.Pauses = PauseInfo{Count: s.Pauses.Count, Median: s.Pauses.Median, P99: s.Pauses.P99, Longest: s.Pauses.Longest}
	out.PacketsIn, out.PacketsOut, out.BytesIn, out.BytesOut, out.Dropped = s.PacketsIn, s.PacketsOut, s.BytesIn, s.BytesOut, s.Dropped
	return out
}

func (a *Agent) serveStatus(w http.ResponseWriter, q *http.Request) {
	out := a.Status()
	if m := a.joining.Load(); m != nil && clientOf(q.Context()).local {
		s, _, _ := a.statusCache.get(m)
		out.Council = s.CouncilID
	}
	writeJSON(w, http.StatusOK, out)
}

// Members returns the council, as this member knows it; nil before the member speaks to others.
func (a *Agent) Members() []MemberInfo {
	m := a.joining.Load()
	if m == nil {
		return nil
	}
	var out []MemberInfo
	_, peers, _ := a.statusCache.get(m)
	for _, p := range peers {
		i := MemberInfo{Name: p.Name, Self: p.Self, Role: p.Role, Heard: p.Heard, Trusted: p.Self || p.Trusted, Silence: p.Silence, Incarnation: p.Incarnation,
			RoundTrip: p.RoundTrip, Deaf: p.Deaf, Unconfirmed: p.Unconfirmed, Bound: p.Bound, Fast: p.Self || p.Bound > 0 && p.Bound <= a.timing.Delay, Problem: p.Problem,
			Key: p.Key, KeyProblem: p.KeyProblem, Revoked: p.Revoked}
		if p.Addr.IsValid() {
			i.Addr = p.Addr.String()
		}
		out = append(out, i)
	}
	return out
}

func (a *Agent) serveMembers(w http.ResponseWriter, _ *http.Request) {
	members := a.Members()
	if members == nil {
		writeError(w, errJoining)
		return
	}
	writeJSON(w, http.StatusOK, MemberList{Members: members, Waiting: a.Status().Waiting})
}

// info shows a group.
func (a *Agent) info(c *Change) GroupInfo {
	_, n := a.changes.group(c.Group)
	out := GroupInfo{Change: *c, Changes: n}
	_, out.Remaining = a.leadsHere(c)
	return out
}

func (a *Agent) serveGroups(w http.ResponseWriter, q *http.Request) {
	limit, err := queryInt(q, "limit", 1000, 10_000)
	if err != nil {
		writeError(w, err)
		return
	}
	found, more := a.changes.list(q.URL.Query().Get("prefix"), q.URL.Query().Get("after"), limit)
	out := GroupList{Groups: make([]GroupInfo, 0, len(found))}
	may := a.readable(q)
	for _, c := range found {
		if may(c.Group) {
			out.Groups = append(out.Groups, a.info(c))
		}
	}
	if more {
		out.Next = found[len(found)-1].Group
	}
	writeJSON(w, http.StatusOK, out)
}

func (a *Agent) serveGroup(w http.ResponseWriter, q *http.Request) {
	c, err := a.changeOf(q)
	if err != nil {
		writeError(w, err)
		return
	}
	out := a.info(c)
	out.Candidates = a.sessions(c.Group)
	writeJSON(w, http.StatusOK, out)
}

// sessions lists the programs that take part, in one group or in all.
func (a *Agent) sessions(group string) []SessionInfo {
	out := []SessionInfo{}
	for _, k := range a.candidateList() {
		if group == "" || k.group == group {
			out = append(out, k.info())
		}
	}
	return out
}

// info shows a candidate.
func (k *candidate) info() SessionInfo {
	out := SessionInfo{ID: k.id, Group: k.group, Program: k.program, Via: k.via, Pid: k.pid, Since: k.since, State: "waiting", Left: k.remaining()}
	out.Token = k.life.Token()
	switch k.life.State() {
	case tenure.Waiting:
	case tenure.Leading:
		out.State = "leading"
	default:
		out.State = "stopping"
	}
	return out
}

// remaining is how long the program leads as far as it was told; zero if it does not.
func (k *candidate) remaining() time.Duration {
	l := k.currentLease()
	if l == nil {
		return 0
	}
	return min(l.Remaining(), max(0, k.announced().Sub(k.agent.now())))
}

func (a *Agent) serveHistory(w http.ResponseWriter, q *http.Request) {
	limit, err := queryInt(q, "limit", 100, maxChanges)
	if err != nil {
		writeError(w, err)
		return
	}
	group := q.PathValue("group")
	if group != "" {
		if _, err := a.changeOf(q); err != nil {
			writeError(w, err)
			return
		}
	}
	out := History{Changes: []Change{}}
	may := a.readable(q)
	for _, c := range a.changes.history(group, limit) {
		if !may(c.Group) {
			continue
		}
		out.Changes = append(out.Changes, *c)
	}
	writeJSON(w, http.StatusOK, out)
}

// queryInt reads a parameter that is a number.
func queryInt(q *http.Request, name string, without, most int) (int, error) {
	text := q.URL.Query().Get(name)
	if text == "" {
		return without, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, failf(http.StatusBadRequest, "%s %.40q: must be a number from 1 to %d", name, text, most)
	}
	return min(n, most), nil
}

// verify proves who leads a group that was heard of.
func (a *Agent) verify(ctx context.Context, group string) (*regent.Proof, error) {
	m, err := a.currentMember()
	if err != nil {
		return nil, err
	}
	c, _ := a.changes.group(group)
	if c == nil {
		return nil, a.unknownGroup(group)
	}
	if c.Mode != regent.Quorum {
		return nil, failf(http.StatusConflict, "group %s is %s: %w of it can be proven", group, c.Mode, regent.ErrNoLeader)
	}
	ctx, cancel := context.WithTimeout(ctx, orderTimeout)
	defer cancel()
	done, err := a.acquireVerifySlot(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	g, err := m.Group(group)
	if err != nil {
		return nil, err
	}
	return proveInTime(ctx, a.now, g.Verify)
}

var errLateProof = failf(http.StatusServiceUnavailable, "the proof came too late: is this host very busy? ask again")

// proofTries is how often a proof is asked for that comes too late each time: then the network is slower than was configured.
const proofTries = 5

// proveInTime asks until a proof holds when it comes, which it may not on a host that was paused meanwhile.
func proveInTime(ctx context.Context, now func() regent.Instant, ask func(context.Context) (*regent.Proof, error)) (*regent.Proof, error) {
	for range proofTries {
		p, err := ask(ctx)
		if err != nil || p.Until.Sub(now()) > session.Skew { // which programs are told less
			return p, err
		}
	}
	return nil, errLateProof
}

func (a *Agent) serveVerify(w http.ResponseWriter, q *http.Request) {
	group, err := a.groupOf(q)
	if err != nil {
		writeError(w, err)
		return
	}
	p, err := a.verify(q.Context(), group)
	if err != nil {
		writeError(w, err)
		return
	}
	left := p.Until.Sub(a.now())
	if left <= 0 {
		writeError(w, errLateProof)
		return
	}
	writeJSON(w, http.StatusOK, ProofInfo{Group: group, Leader: p.Leader, Token: p.Token, ValidFor: left})
}

// ClockAdvice is what is wrong when a clock is beyond its bound, and what to do.
const ClockAdvice = "the clock runs at another rate than those of a majority: this member leads nothing until it is right; " +
	"see whether its time is kept (chronyc tracking), by which clock (/sys/devices/system/clocksource), and whether the host is paused"

func (a *Agent) serveReady(w http.ResponseWriter, _ *http.Request) {
	s := a.Status()
	var wrong []string
	if s.Waiting != "" {
		wrong = append(wrong, s.Waiting)
	}
	if s.Disk != "" {
		wrong = append(wrong, "the durable record cannot be written: "+s.Disk)
	}
	if s.ClockFault {
		wrong = append(wrong, ClockAdvice)
	}
	if s.Stopping {
		wrong = append(wrong, "the agent is stopping")
	}
	if i := slices.IndexFunc(wrong, func(s string) bool { return s != "" }); i >= 0 {
		writeJSON(w, http.StatusServiceUnavailable, Health{Why: wrong[i]})
		return
	}
	writeJSON(w, http.StatusOK, Health{OK: true})
}
