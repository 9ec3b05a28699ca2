package agent

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/why"
)

// What tools that were made for Patroni read and say. Words of theirs that have no meaning here, such as how far a
// replica lags behind, are left out; parameters about them are not looked at.

// PatroniInfo is what is known about a group, in Patroni's words.
type PatroniInfo struct {
	RoleInfo
	// Timeline is the leader's token.
	Timeline uint64 `json:"timeline"`
	// LastSeen is when a majority was last heard, in seconds since 1970; 0: never.
	LastSeen int64             `json:"dcs_last_seen"`
	Tags     map[string]string `json:"tags"`
	// Unlocked says that nobody leads.
	Unlocked bool        `json:"cluster_unlocked,omitempty"`
	Patroni  PatroniSelf `json:"patroni"`
}

// PatroniSelf is of PatroniInfo: which agent it is, for which group.
type PatroniSelf struct {
	Version string `json:"version"`
	Scope   string `json:"scope"`
	Name    string `json:"name"`
}

// ClusterInfo is the council with its roles in a group.
type ClusterInfo struct {
	Scope     string          `json:"scope"`
	Members   []ClusterMember `json:"members"`
	Scheduled *ScheduledInfo  `json:"scheduled_switchover,omitempty"`
}

// ClusterMember is of ClusterInfo.
type ClusterMember struct {
	Name string `json:"name"`
	// Role is leader or replica, State running or unreachable.
	Role  string `json:"role"`
	State string `json:"state"`
	// Host and Port are where its packets go.
	Host     string `json:"host,omitempty"`
	Port     int    `json:"port,omitempty"`
	Timeline uint64 `json:"timeline,omitempty"`
	// APIURL and Tags are known of this agent only.
	APIURL string            `json:"api_url,omitempty"`
	Tags   map[string]string `json:"tags,omitempty"`
}

// ScheduledInfo is a switchover that is to come.
type ScheduledInfo struct {
	At   time.Time `json:"at"`
	From string    `json:"from"`
	To   string    `json:"to,omitempty"`
}

// SwitchoverOrder is the body of a switchover, and of a failover, which has a candidate only.
type SwitchoverOrder struct {
	// Leader is who leads now: the order is refused if that has changed.
	Leader string `json:"leader,omitempty"`
	// Candidate is who shall lead; empty: whoever is elected.
	Candidate string `json:"candidate,omitempty"`
	// ScheduledAt is when, in the form of RFC 3339; empty: now.
	ScheduledAt string `json:"scheduled_at,omitempty"`
}

// patroniRoutes are the routes that only tools of Patroni use, for each group and for the default one.
func patroniRoutes() []route {
	var all []route
	for _, base := range []string{"/v1/groups/{group}/", "/"} {
		of := ""
		if base == "/" {
			of = " Of the default group."
		}
		done := map[int]any{200: Outcome{}, 202: ScheduledInfo{}, 400: Refusal{}, 404: Refusal{}, 412: Refusal{}, 413: Refusal{}, 503: Refusal{}}
		forced := maps.Clone(done)
		delete(forced, 202)
		for _, method := range []string{"GET", "OPTIONS"} {
			all = append(all, route{method: method, path: base + "patroni", summary: "What is known about the group, in Patroni's words; always 200, with an empty scope if there is no group." + of,
				out: map[int]any{200: PatroniInfo{}}, serve: (*Agent).servePatroni})
		}
		all = append(all,
			route{method: "POST", path: base + "switchover", requires: writer, right: mayOperate, audit: "switchover", in: SwitchoverOrder{}, out: done,
				summary: "As transfer, or as resign without a candidate: at once, or at a time, which this agent remembers for as long as it runs." + of, serve: (*Agent).serveSwitchover},
			route{method: "DELETE", path: base + "switchover", requires: writer, right: mayOperate, audit: "cancel switchover", out: map[int]any{200: ScheduledInfo{}, 404: Refusal{}},
				summary: "Cancel a switchover that is to come." + of, serve: (*Agent).serveCancelSwitchover},
			route{method: "POST", path: base + "failover", requires: writer, right: mayOperate, audit: "failover", in: SwitchoverOrder{}, out: forced,
				summary: "As switchover to a candidate, whoever leads here." + of, serve: (*Agent).serveFailover})
	}
	return append(all, route{method: "GET", path: "/history", requires: reader, summary: "The leaderships of the default group, as Patroni lists them: token, leader, cause, time. /v1/groups/{group}/history has another form.",
		out: map[int]any{200: [][]any{}, 404: Refusal{}}, serve: (*Agent).servePatroniHistory})
}

// tagged says whether a request asks for tags that this host has. Patroni's parameters for that begin with tag_.
func (a *Agent) tagged(q *http.Request) bool {
	tags := a.file.Load().Tags
	for name, values := range q.URL.Query() {
		if tag, ok := strings.CutPrefix(name, "tag_"); ok && !slices.Contains(values, tags[tag]) {
			return false
		}
	}
	return true
}

func (a *Agent) servePatroni(w http.ResponseWriter, q *http.Request) {
	group, err := a.groupOf(q)
	if err != nil && !errors.Is(err, errNoGroup) {
		writeError(w, err)
		return
	}
	out := PatroniInfo{RoleInfo: a.role(group), LastSeen: a.lastSeen(time.Now()), Tags: map[string]string{},
		Patroni: PatroniSelf{Version: a.options.Version, Scope: group, Name: a.name}}
	maps.Copy(out.Tags, a.file.Load().Tags)
	out.Timeline, out.Unlocked = out.Token, group != "" && out.Name == ""
	writeJSON(w, http.StatusOK, out)
}

// lastSeen returns when a majority of those that vote was last heard, in seconds since 1970; 0 if it never was.
func (a *Agent) lastSeen(now time.Time) int64 {
	var silences []time.Duration
	voters := 0
	for _, m := range a.Members() {
		if m.Role == "observer" {
			continue
		}
		voters++
		if m.Self || m.Heard {
			silences = append(silences, m.Silence)
		}
	}
	need := voters/2 + 1
	if voters == 0 || len(silences) < need {
		return 0
	}
	slices.Sort(silences)
	return now.Add(-silences[need-1]).Unix()
}

func (a *Agent) serveCluster(w http.ResponseWriter, q *http.Request) {
	group, err := a.groupOf(q)
	if err != nil {
		writeError(w, err)
		return
	}
	i := a.role(group)
	out := ClusterInfo{Scope: group, Members: []ClusterMember{}, Scheduled: a.switchovers.of(group)}
	for _, m := range a.Members() {
		c := ClusterMember{Name: m.Name, Role: "replica", State: "running", Host: m.Addr}
		if host, port, err := net.SplitHostPort(m.Addr); err == nil {
			c.Host = host
			c.Port, _ = strconv.Atoi(port)
		}
		if m.Name == i.Name {
			c.Role, c.Timeline = "leader", i.Token
		}
		if m.Problem != "" || !m.Heard || !m.Trusted && m.Silence > 2*a.timing.Suspect {
			c.State = "unreachable"
		}
		if m.Self {
			c.APIURL, c.Tags = a.url("/patroni"), a.file.Load().Tags
		}
		out.Members = append(out.Members, c)
	}
	writeJSON(w, http.StatusOK, out)
}

// url returns where a path of this agent's is, as far as its configuration says; empty if it serves no HTTP but on its
// socket.
func (a *Agent) url(path string) string {
	h := &a.file.Load().HTTP
	switch {
	case h.Listen == "":
		return ""
	case h.TLS.Cert != "":
		return "https://" + h.Listen + path
	}
	return "http://" + h.Listen + path
}

func (a *Agent) servePatroniHistory(w http.ResponseWriter, q *http.Request) {
	group, err := a.groupOf(q)
	if err != nil {
		writeError(w, err)
		return
	}
	out := [][]any{}
	for _, c := range a.changes.history(group, maxChanges) {
		if c.Leader != "" && !c.Stopping {
			out = append(out, []any{c.Token, c.Leader, c.Cause.String(), c.At.Format(time.RFC3339Nano)})
		}
	}
	writeJSON(w, http.StatusOK, out)
}

func (a *Agent) serveSwitchover(w http.ResponseWriter, q *http.Request) {
	var body SwitchoverOrder
	err := decode(q, &body)
	if err == nil && body.Leader == "" {
		err = failf(http.StatusBadRequest, "who leads now? name the member in \"leader\"")
	}
	if err != nil {
		writeError(w, err)
		return
	}
	a.switchOver(w, q, &body)
}

func (a *Agent) serveFailover(w http.ResponseWriter, q *http.Request) {
	var body SwitchoverOrder
	err := decode(q, &body)
	switch {
	case err != nil:
	case body.Candidate == "":
		err = failf(http.StatusBadRequest, "to whom? name a member in \"candidate\"")
	case body.ScheduledAt != "":
		err = failf(http.StatusBadRequest, "a failover is done at once: use switchover for later")
	}
	if err != nil {
		writeError(w, err)
		return
	}
	a.switchOver(w, q, &body)
}

// switchOver carries an order out, or remembers it.
func (a *Agent) switchOver(w http.ResponseWriter, q *http.Request, body *SwitchoverOrder) {
	c, err := a.changeOf(q)
	var k *candidate
	if err == nil {
		k, err = a.switchable(c, body)
	}
	if err != nil {
		writeError(w, err)
		return
	}
	if body.ScheduledAt == "" {
		err = a.orderWithoutTimeout(w, q, k, a.switchOrder(body.Candidate))
		var known *httpError
		if errors.As(err, &known) {
			err = &httpError{http.StatusServiceUnavailable, err}
		}
		a.answerOrder(w, q, k, body.Candidate, err)
		return
	}
	at, err := time.Parse(time.RFC3339, body.ScheduledAt)
	if err != nil || time.Until(at) <= 0 {
		writeError(w, failf(http.StatusBadRequest, "scheduled_at %.40q: must be a time to come, such as %s", body.ScheduledAt, time.Now().Add(time.Hour).Format(time.RFC3339)))
		return
	}
	p := &ScheduledInfo{At: at, From: a.name, To: body.Candidate}
	a.switchovers.plan(c.Group, p, func() { a.carryOut(c.Group, k, p) })
	a.log.Info("a switchover is to come", "group", c.Group, "at", at, "to", body.Candidate)
	writeJSON(w, http.StatusAccepted, *p)
}

// switchable returns the program here that an order is about, or says why it cannot be carried out.
func (a *Agent) switchable(c *Change, body *SwitchoverOrder) (*candidate, error) {
	if body.Leader != "" && body.Leader != c.Leader {
		return nil, failf(http.StatusPreconditionFailed, "group %s: %s does not lead it, %s does", c.Group, body.Leader, orNobody(c.Leader))
	}
	k, err := a.leaderOfGroup(c.Group, 0, switchCommand(c.Group, body.Candidate))
	if err != nil {
		return nil, &httpError{http.StatusServiceUnavailable, err}
	}
	if body.Candidate != "" {
		if err := a.checkSuccessor(body.Candidate); err != nil {
			return nil, &httpError{http.StatusPreconditionFailed, err}
		}
	}
	return k, nil
}

func orNobody(name string) string {
	if name == "" {
		return "nobody"
	}
	return name
}

// switchOrder is the order to hand over to a member, or to nobody in particular.
func (a *Agent) switchOrder(to string) *order {
	if to == "" {
		return newOrder(regent.Cause{Why: why.Resigned, Member: a.name}, "")
	}
	return newOrder(regent.Cause{Why: why.Transferred, Member: to}, to)
}

// carryOut does what was scheduled, if the same program still leads.
func (a *Agent) carryOut(group string, k *candidate, p *ScheduledInfo) {
	ctx, cancel := context.WithTimeout(context.Background(), a.graceFor(k, regent.Cause{})+a.timing.LongestLease+orderTimeout)
	defer cancel()
	if err := a.order(ctx, k, a.switchOrder(p.To)); err != nil {
		a.log.Warn("a scheduled switchover came to nothing", "group", group, "to", p.To, "err", err)
	}
}

func (a *Agent) serveCancelSwitchover(w http.ResponseWriter, q *http.Request) {
	group, err := a.groupOf(q)
	if err == nil {
		if p := a.switchovers.cancel(group); p != nil {
			writeJSON(w, http.StatusOK, *p)
			return
		}
		err = failf(http.StatusNotFound, "group %.40q: no switchover is to come, as far as %s knows", group, a.name)
	}
	writeError(w, err)
}

// switchovers are those that are to come, at most one for each group.
type switchovers struct {
	mu  sync.Mutex
	all map[string]*scheduled
}

type scheduled struct {
	*ScheduledInfo
	timer *time.Timer
}

// plan has f called at the time, instead of what was to come for the group.
func (s *switchovers) plan(group string, p *ScheduledInfo, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.all[group]; old != nil {
		old.timer.Stop()
	}
	if s.all == nil {
		s.all = make(map[string]*scheduled)
	}
	s.all[group] = &scheduled{p, time.AfterFunc(time.Until(p.At), func() {
		s.mu.Lock()
		mine := s.all[group] != nil && s.all[group].ScheduledInfo == p
		if mine {
			delete(s.all, group)
		}
		s.mu.Unlock()
		if mine {
			f()
		}
	})}
}

// of returns what is to come for a group; nil: nothing.
func (s *switchovers) of(group string) *ScheduledInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.all[group]; p != nil {
		return p.ScheduledInfo
	}
	return nil
}

// cancel takes it back, and returns what was to come.
func (s *switchovers) cancel(group string) *ScheduledInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.all[group]
	if p == nil {
		return nil
	}
	p.timer.Stop()
	delete(s.all, group)
	return p.ScheduledInfo
}

// cancelAll takes all of them back.
func (s *switchovers) cancelAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.all {
		p.timer.Stop()
	}
	s.all = nil
}
