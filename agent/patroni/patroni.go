package patroni

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/agent/httpd"
)

// PatroniInfo is what is known about a group, in Patroni's words.
type PatroniInfo struct {
	api.RoleInfo
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
	// Candidate is the member that shall lead; empty: the next election decides.
	Candidate string `json:"candidate,omitempty"`
	// ScheduledAt is when, in the form of RFC 3339; empty: now.
	ScheduledAt string `json:"scheduled_at,omitempty"`
}

// Adapter is the room for tools that were made for Patroni.
type Adapter struct {
	core Agent
	web  *httpd.Server
	// switchovers are those that were asked for, for later.
	switchovers switchovers
}

// New returns an adapter that answers through the HTTP interface.
func New(a Agent, s *httpd.Server) *Adapter { return &Adapter{core: a, web: s} }

// Close takes back all that is to come.
func (s *Adapter) Close() { s.switchovers.cancelAll() }

// Routes are the routes that only tools of Patroni use, for each group and for the default one.
func (s *Adapter) Routes() []httpd.Route {
	var all []httpd.Route
	for _, base := range []string{"/v1/groups/{group}/", "/"} {
		of := ""
		if base == "/" {
			of = " Of the default group."
		}
		done := map[int]any{200: api.Outcome{}, 202: ScheduledInfo{}, 400: api.Refusal{}, 404: api.Refusal{}, 412: api.Refusal{}, 413: api.Refusal{}, 503: api.Refusal{}, 504: api.Refusal{}}
		forced := maps.Clone(done)
		delete(forced, 202)
		for _, method := range []string{"GET", "OPTIONS"} {
			all = append(all, httpd.Route{Method: method, Path: base + "cluster", Requires: access.Reader, Summary: "The council with its roles in the group." + of,
				Out: map[int]any{200: ClusterInfo{}, 404: api.Refusal{}}, Serve: s.serveCluster})
			all = append(all, httpd.Route{Method: method, Path: base + "patroni", Summary: "What is known about the group, in Patroni's words; always 200, with an empty scope if there is no group." + of,
				Out: map[int]any{200: PatroniInfo{}}, Serve: s.servePatroni})
		}
		all = append(all,
			httpd.Route{Method: "POST", Path: base + "switchover", Requires: access.Writer, Right: access.MayOperate, Audit: "switchover", In: SwitchoverOrder{}, Out: done,
				Summary: "As transfer, or as resign without a candidate, on whatever host leads: at once, or at a time, which this agent remembers for as long as it runs; 504: the outcome is unknown." + of, Serve: s.serveSwitchover},
			httpd.Route{Method: "DELETE", Path: base + "switchover", Requires: access.Writer, Right: access.MayOperate, Audit: "cancel switchover", Out: map[int]any{200: ScheduledInfo{}, 404: api.Refusal{}},
				Summary: "Cancel a switchover that is to come." + of, Serve: s.serveCancelSwitchover},
			httpd.Route{Method: "POST", Path: base + "failover", Requires: access.Writer, Right: access.MayOperate, Audit: "failover", In: SwitchoverOrder{}, Out: forced,
				Summary: "As switchover to a candidate at once, whichever member leads." + of, Serve: s.serveFailover})
	}
	return append(all, httpd.Route{Method: "GET", Path: "/history", Requires: access.Reader, Summary: "The leaderships of the default group, as Patroni lists them: token, leader, cause, time. /v1/groups/{group}/history has another form.",
		Out: map[int]any{200: [][]any{}, 404: api.Refusal{}}, Serve: s.servePatroniHistory})
}

func (a *Adapter) servePatroni(w http.ResponseWriter, q *http.Request) {
	group, err := a.web.GroupOf(q)
	if err != nil && !errors.Is(err, httpd.ErrNoGroup) {
		httpd.WriteError(w, err)
		return
	}
	out := PatroniInfo{RoleInfo: a.core.Role(group), LastSeen: a.lastSeen(time.Now()), Tags: map[string]string{},
		Patroni: PatroniSelf{Version: a.core.About().Version, Scope: group, Name: a.core.About().Name}}
	maps.Copy(out.Tags, a.core.Config().Tags)
	out.Timeline, out.Unlocked = out.Token, group != "" && out.Name == ""
	httpd.WriteJSON(w, http.StatusOK, out)
}

// lastSeen returns when a majority of those that vote was last heard, in seconds since 1970; 0 if it never was.
func (a *Adapter) lastSeen(now time.Time) int64 {
	var silences []time.Duration
	voters := 0
	for _, m := range a.core.Members() {
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

func (a *Adapter) serveCluster(w http.ResponseWriter, q *http.Request) {
	group, err := a.web.GroupOf(q)
	if err != nil {
		httpd.WriteError(w, err)
		return
	}
	i := a.core.Role(group)
	out := ClusterInfo{Scope: group, Members: []ClusterMember{}, Scheduled: a.switchovers.of(group)}
	for _, m := range a.core.Members() {
		c := ClusterMember{Name: m.Name, Role: "replica", State: "running"}
		if m.Addr.IsValid() {
			c.Host, c.Port = m.Addr.Addr().String(), int(m.Addr.Port())
		}
		if m.Name == i.Name {
			c.Role, c.Timeline = "leader", i.Token
		}
		if m.Problem != "" || !m.Heard || !m.Trusted && m.Silence > 2*a.core.About().Timing.Suspect {
			c.State = "unreachable"
		}
		if m.Self {
			c.APIURL, c.Tags = a.url("/patroni"), a.core.Config().Tags
		}
		out.Members = append(out.Members, c)
	}
	httpd.WriteJSON(w, http.StatusOK, out)
}

// url returns where a path of this agent's is, as far as its configuration says; empty if it serves no HTTP but on its
// socket.
func (a *Adapter) url(path string) string {
	h := &a.core.Config().HTTP
	switch {
	case h.Listen == "":
		return ""
	case h.TLS.Cert != "":
		return "https://" + h.Listen + path
	}
	return "http://" + h.Listen + path
}

func (a *Adapter) servePatroniHistory(w http.ResponseWriter, q *http.Request) {
	group, err := a.web.GroupOf(q)
	if err != nil {
		httpd.WriteError(w, err)
		return
	}
	out := [][]any{}
	for _, c := range a.core.Known().History(group, core.MaxChanges) {
		if c.Leader != "" && !c.Stopping {
			out = append(out, []any{c.Token, c.Leader, c.Cause.String(), c.At.Format(time.RFC3339Nano)})
		}
	}
	httpd.WriteJSON(w, http.StatusOK, out)
}

func (a *Adapter) serveSwitchover(w http.ResponseWriter, q *http.Request) {
	var body SwitchoverOrder
	err := httpd.Decode(q, &body)
	if err == nil && body.Leader == "" {
		err = api.Errorf(http.StatusBadRequest, "missing leader (name the member that leads now in \"leader\")")
	}
	if err != nil {
		httpd.WriteError(w, err)
		return
	}
	a.switchOver(w, q, &body)
}

func (a *Adapter) serveFailover(w http.ResponseWriter, q *http.Request) {
	var body SwitchoverOrder
	err := httpd.Decode(q, &body)
	switch {
	case err != nil:
	case body.Candidate == "":
		err = api.Errorf(http.StatusBadRequest, "missing candidate (name a member in \"candidate\")")
	case body.ScheduledAt != "":
		err = api.Errorf(http.StatusBadRequest, "a failover is done at once: use switchover for later")
	}
	if err != nil {
		httpd.WriteError(w, err)
		return
	}
	a.switchOver(w, q, &body)
}

// switchOver carries an order out on whatever host the group is led, or remembers it.
func (a *Adapter) switchOver(w http.ResponseWriter, q *http.Request, body *SwitchoverOrder) {
	httpd.AuditOrder(w, body.Candidate, "")
	c, err := a.web.ChangeOf(q)
	if err == nil {
		err = a.check(c, body)
	}
	if err != nil {
		httpd.WriteError(w, err)
		return
	}
	action, order := orderFor(c, body)
	if body.ScheduledAt == "" {
		a.web.Answer(w, q, func(ctx context.Context) (int, any, error) {
			status, out, err := a.web.GiveFor(ctx, w, action, c.Group, order)
			return status, out, asPatroni(err)
		})
		return
	}
	at, err := time.Parse(time.RFC3339, body.ScheduledAt)
	if err != nil || time.Until(at) <= 0 {
		err = api.Errorf(http.StatusBadRequest, "scheduled_at %.40q: must be a time to come, such as %s", body.ScheduledAt, time.Now().Add(time.Hour).Format(time.RFC3339))
	} else {
		err = a.web.PermitAt(q.Context(), c.Leader, c.Group)
	}
	if err != nil {
		httpd.WriteError(w, err)
		return
	}
	p := &ScheduledInfo{At: at, From: c.Leader, To: body.Candidate}
	ctx := context.WithoutCancel(q.Context()) // the order is its sender's, also then
	a.switchovers.plan(c.Group, p, func() { a.carryOut(ctx, action, c.Group, order) })
	a.core.About().Log.Info("a switchover is to come", "group", c.Group, "at", at, "from", c.Leader, "to", body.Candidate)
	httpd.WriteJSON(w, http.StatusAccepted, *p)
}

// check says why an order cannot be carried out, as far as this host knows.
func (a *Adapter) check(c *api.Change, body *SwitchoverOrder) error {
	if body.Leader != "" && body.Leader != c.Leader {
		return api.Errorf(http.StatusPreconditionFailed, "group %s: %s does not lead it, %s does", c.Group, body.Leader, orNobody(c.Leader))
	}
	switch body.Candidate {
	case "":
		return nil
	case c.Leader:
		return api.Errorf(http.StatusPreconditionFailed, "%s leads already", body.Candidate)
	}
	check := a.core.CheckMember
	if c.Leader == a.core.About().Name {
		check = a.core.CheckSuccessor
	}
	if err := check(body.Candidate); err != nil {
		return api.WithStatus(http.StatusPreconditionFailed, err)
	}
	return nil
}

// orderFor returns what the order is in words of the agent. A switchover is for the leadership that its sender has named, a failover for any.
func orderFor(c *api.Change, body *SwitchoverOrder) (action string, order any) {
	token := c.Token
	if body.Leader == "" {
		token = 0
	}
	if body.Candidate == "" {
		return "resign", &api.ResignOrder{Token: token}
	}
	return "transfer", &api.TransferOrder{To: body.Candidate, Token: token}
}

// asPatroni gives an error a status that tools of Patroni know: 503 if nothing was done.
func asPatroni(err error) error {
	var known *api.Error
	if errors.As(err, &known) && known.Status != http.StatusForbidden && known.Status != http.StatusGatewayTimeout {
		return api.WithStatus(http.StatusServiceUnavailable, err)
	}
	return err
}

func orNobody(name string) string {
	if name == "" {
		return "nobody"
	}
	return name
}

// switchTimeout bounds how long the outcome of a scheduled order is waited for: as long as a program may take to stop.
const switchTimeout = time.Hour

// carryOut does what was scheduled, if the same leadership lasts.
func (a *Adapter) carryOut(ctx context.Context, action, group string, order any) {
	ctx, cancel := context.WithTimeout(ctx, switchTimeout)
	defer cancel()
	if _, _, err := a.web.Give(ctx, action, group, order); err != nil {
		a.core.About().Log.Warn("a scheduled switchover came to nothing", "group", group, "err", err)
	}
}

func (a *Adapter) serveCancelSwitchover(w http.ResponseWriter, q *http.Request) {
	group, err := a.web.GroupOf(q)
	if err == nil {
		if p := a.switchovers.cancel(group); p != nil {
			httpd.WriteJSON(w, http.StatusOK, *p)
			return
		}
		err = api.Errorf(http.StatusNotFound, "group %.40q: no switchover is to come, as far as %s knows", group, a.core.About().Name)
	}
	httpd.WriteError(w, err)
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
