package agent

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/why"
)

// RoleInfo is the body of a role endpoint.
type RoleInfo struct {
	// Name is the leader's: clients of sidecars compare it with their own. Empty if nobody leads.
	Name  string `json:"name"`
	Group string `json:"group"`
	// Role is primary, standby_leader (of a part of the network only) or replica, State running or waiting: words that load balancers' configurations know.
	Role  string `json:"role"`
	State string `json:"state"`
	Token uint64 `json:"token,omitempty"`
	// Remaining is how long the lease runs if a program here leads, or this host its part of the network, in nanoseconds.
	Remaining time.Duration `json:"remaining,omitempty"`
	Cause     regent.Cause  `json:"cause"`
	Member    string        `json:"member"`
}

// SidecarInfo is what a sidecar says: who leads, proven at the moment of answering.
type SidecarInfo struct {
	Name       string    `json:"name"`
	LastUpdate time.Time `json:"last_update"`
}

// A question is what a role endpoint asks. It gets what is known, and says yes or no.
type question func(a *Agent, i *RoleInfo) bool

// leads: a program here leads, and its lease runs at this moment.
func leads(_ *Agent, i *RoleInfo) bool { return i.Role == "primary" }

// follows: the member is well, another one leads, and this host's tags do not keep load away from it.
func follows(a *Agent, i *RoleInfo) bool {
	return a.file.Load().Tags["noloadbalance"] != "true" && i.Role == "replica" && i.State == "running" && i.Name != "" && i.Name != a.name
}

// well: the member takes part.
func well(_ *Agent, i *RoleInfo) bool { return i.State == "running" }

// knows: the member takes part, and sees a leader.
func knows(_ *Agent, i *RoleInfo) bool { return i.State == "running" && i.Name != "" }

// always: the agent answers at all.
func always(*Agent, *RoleInfo) bool { return true }

// leadsLocally: this host leads its part of the network.
func leadsLocally(_ *Agent, i *RoleInfo) bool { return i.Role == "standby_leader" }

// lives: the member's loop runs.
func lives(a *Agent, _ *RoleInfo) bool { return a.alive() }

// asks are the role endpoints: path, sentence, question, and whether it is one about the agent, whatever the group.
var asks = []struct {
	path, says string
	ask        question
	any        bool
}{
	{"primary", "200 while a program here leads the group, by a lease that runs at the moment of answering.", leads, false},
	{"read-write", "As primary.", leads, false},
	{"leader", "As primary: the leader of a quorum, never one of a partition only.", leads, false},
	{"standby-leader", "200 while this host leads its part of the network only, in a local group; quorum groups have no such leader.", leadsLocally, false},
	{"standby_leader", "As standby-leader.", leadsLocally, false},
	{"replica", "200 while the member is well and another one leads, unless it has the tag noloadbalance.", follows, false},
	{"read-only", "200 while the member is well.", well, true},
	{"health", "200 while the agent answers.", always, true},
	{"liveness", "200 while the member's loop runs.", lives, true},
	{"readiness", "200 while the member is well and knows of a leader.", knows, false},
}

// roles are the routes that load balancers and sidecars ask, for each group and for the default one.
func roles() []route {
	var all []route
	both := func(path, says, without string, needs role, out map[int]any, serve func(*Agent, http.ResponseWriter, *http.Request)) {
		for _, base := range []string{"/v1/groups/{group}/", "/"} {
			text := says
			if base == "/" {
				text += " Of the default group" + without + "."
			}
			for _, method := range []string{"GET", "OPTIONS"} { // GET answers HEAD too
				all = append(all, route{method: method, path: base + path, says: text, needs: needs, out: out, serve: serve})
			}
		}
	}
	for _, r := range asks {
		without := ""
		if r.any {
			without = ", or of none if there is none"
		}
		both(r.path, r.says+" 503 if a parameter tag_NAME=VALUE is not a tag of this host.", without, nobody, map[int]any{200: RoleInfo{}, 404: Refusal{}, 503: RoleInfo{}}, roleHandler(r.ask, r.any))
	}
	both("sidecar", "Who leads, proven at the moment of answering; 503 and an empty name if nobody is.", "", reader, map[int]any{200: SidecarInfo{}, 404: Refusal{}, 503: SidecarInfo{}}, (*Agent).serveSidecar)
	both("cluster", "The council with its roles in the group.", "", reader, map[int]any{200: ClusterInfo{}, 404: Refusal{}}, (*Agent).serveCluster)
	all = append(all,
		route{method: "GET", path: "/v1/groups/{group}/sse", needs: reader, stream: true, says: "As sidecar, whenever that changes.", out: map[int]any{200: SidecarInfo{}, 404: Refusal{}, 503: Refusal{}}, serve: (*Agent).serveSidecarStream},
		route{method: "GET", path: "/sse", needs: reader, stream: true, says: "As sidecar, whenever that changes. Of the default group.", out: map[int]any{200: SidecarInfo{}, 404: Refusal{}, 503: Refusal{}}, serve: (*Agent).serveSidecarStream})
	front := map[int]any{200: RoleInfo{}, 404: Refusal{}, 503: RoleInfo{}}
	sent := maps.Clone(front)
	sent[http.StatusFound] = ""
	all = append(all,
		route{method: "GET", path: "/", says: "As primary, of the default group. A browser is sent to the dashboard, if there is one.", out: sent, serve: (*Agent).serveFront},
		route{method: "OPTIONS", path: "/", says: "As primary, of the default group.", out: front, serve: (*Agent).serveFront})
	return append(all, patroniRoutes()...)
}

// role returns what a role endpoint looks at. The lease is asked now.
func (a *Agent) role(group string) RoleInfo {
	i := RoleInfo{Group: group, Role: "replica", State: "waiting", Member: a.name, Cause: regent.Cause{Why: why.Started}}
	if c, _ := a.board.group(group); c != nil {
		i.Name, i.Token, i.Cause = c.Leader, c.Token, c.Cause
	}
	if a.member.Load() != nil { // one that has joined once takes part until it leaves
		i.State = "running"
	}
	if left := a.locals.left(group); left > 0 {
		i.Name, i.Role, i.Remaining = a.name, "standby_leader", left
		return i
	}
	k := a.leader(group)
	if k == nil {
		return i
	}
	if left := k.remaining(); left > 0 && k.leadsNow() {
		i.Name, i.Role, i.Token, i.Remaining = a.name, "primary", k.current().Token(), left
	} else if i.Name == a.name {
		i.Name = "" // it did, until a moment ago
	}
	return i
}

// roleHandler answers a question. One about any group needs none.
func roleHandler(ask question, anyGroup bool) func(*Agent, http.ResponseWriter, *http.Request) {
	return func(a *Agent, w http.ResponseWriter, q *http.Request) {
		group, err := a.groupOf(q)
		if err != nil && (!anyGroup || !errors.Is(err, errNoGroup)) {
			refuse(w, err)
			return
		}
		i := a.role(group)
		status := http.StatusServiceUnavailable
		if ask(a, &i) && a.tagged(q) {
			status = http.StatusOK
		}
		if i.Token != 0 {
			w.Header().Set("Regent-Token", itoa(i.Token))
		}
		answer(w, status, i)
	}
}

// serveFront answers /, which is several things at once: the page for people, and for others the role of the default group.
func (a *Agent) serveFront(w http.ResponseWriter, q *http.Request) {
	if a.options.Dashboard != nil && q.Method == http.MethodGet && strings.Contains(q.Header.Get("Accept"), "text/html") {
		http.Redirect(w, q, "/ui/", http.StatusFound)
		return
	}
	roleHandler(leads, false)(a, w, q)
}

// sidecar says who leads, proven.
func (a *Agent) sidecar(ctx context.Context, group string) (SidecarInfo, bool) {
	out := SidecarInfo{LastUpdate: time.Now()}
	if c, _ := a.board.group(group); c != nil {
		out.LastUpdate = c.Time
	}
	if k := a.leader(group); k != nil && k.leadsNow() {
		out.Name = a.name
		return out, true
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if p, err := a.verify(ctx, group); err == nil && p.Valid() {
		out.Name = p.Leader
		return out, true
	}
	return out, false
}

func (a *Agent) serveSidecar(w http.ResponseWriter, q *http.Request) {
	group, err := a.groupOf(q)
	if err != nil {
		refuse(w, err)
		return
	}
	i, ok := a.sidecar(q.Context(), group)
	status := http.StatusOK
	if !ok {
		status = http.StatusServiceUnavailable
	}
	answer(w, status, i)
}

func (a *Agent) serveSidecarStream(w http.ResponseWriter, q *http.Request) {
	a.streamOf(w, q, func(s *stream, group string, watch *watcher, _ []*Change) {
		ticker := time.NewTicker(commentEvery)
		defer ticker.Stop()
		for {
			i, _ := a.sidecar(q.Context(), group)
			if s.say("message", i) != nil {
				return
			}
			select {
			case <-watch.c:
			case <-ticker.C:
			case <-q.Context().Done():
				return
			}
		}
	})
}
