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

// A roleCheck is what a role endpoint asks. It gets what is known, and says yes or no.
type roleCheck func(a *Agent, i *RoleInfo) bool

// isPrimary: a program here leads, and its lease runs at this moment.
func isPrimary(_ *Agent, i *RoleInfo) bool { return i.Role == "primary" }

// isReplica: the member is well, another one leads, and this host's tags do not keep load away from it.
func isReplica(a *Agent, i *RoleInfo) bool {
	return a.file.Load().Tags["noloadbalance"] != "true" && i.Role == "replica" && i.State == "running" && i.Name != "" && i.Name != a.name
}

// isRunning: the member takes part.
func isRunning(_ *Agent, i *RoleInfo) bool { return i.State == "running" }

// knowsLeader: the member takes part, and sees a leader.
func knowsLeader(_ *Agent, i *RoleInfo) bool { return i.State == "running" && i.Name != "" }

// always: the agent answers at all.
func always(*Agent, *RoleInfo) bool { return true }

// isLocalLeader: this host leads its part of the network.
func isLocalLeader(_ *Agent, i *RoleInfo) bool { return i.Role == "standby_leader" }

// isAlive: the member's loop runs.
func isAlive(a *Agent, _ *RoleInfo) bool { return a.alive() }

// roleChecks are the role endpoints: path, sentence, question, and whether it is one about the agent, whatever the group.
var roleChecks = []struct {
	path, says string
	ask        roleCheck
	any        bool
}{
	{"primary", "200 while a program here leads the group, by a lease that runs at the moment of answering.", isPrimary, false},
	{"read-write", "As primary.", isPrimary, false},
	{"leader", "As primary: the leader of a quorum, never one of a partition only.", isPrimary, false},
	{"standby-leader", "200 while this host leads its part of the network only, in a local group; quorum groups have no such leader.", isLocalLeader, false},
	{"standby_leader", "As standby-leader.", isLocalLeader, false},
	{"replica", "200 while the member is well and another one leads, unless it has the tag noloadbalance.", isReplica, false},
	{"read-only", "200 while the member is well.", isRunning, true},
	{"health", "200 while the agent answers.", always, true},
	{"liveness", "200 while the member's loop runs.", isAlive, true},
	{"readiness", "200 while the member is well and knows of a leader.", knowsLeader, false},
}

// roleRoutes are the routes that load balancers and sidecars ask, for each group and for the default one.
func roleRoutes() []route {
	var all []route
	both := func(path, says, without string, needs role, out map[int]any, serve func(*Agent, http.ResponseWriter, *http.Request)) {
		for _, base := range []string{"/v1/groups/{group}/", "/"} {
			text := says
			if base == "/" {
				text += " Of the default group" + without + "."
			}
			for _, method := range []string{"GET", "OPTIONS"} { // GET answers HEAD too
				all = append(all, route{method: method, path: base + path, summary: text, requires: needs, out: out, serve: serve})
			}
		}
	}
	for _, r := range roleChecks {
		without := ""
		if r.any {
			without = ", or of none if there is none"
		}
		both(r.path, r.says+" 503 if a parameter tag_NAME=VALUE is not a tag of this host.", without, anonymous, map[int]any{200: RoleInfo{}, 404: Refusal{}, 503: RoleInfo{}}, roleHandler(r.ask, r.any))
	}
	both("sidecar", "Who leads, proven at the moment of answering; 503 and an empty name if nobody is.", "", reader, map[int]any{200: SidecarInfo{}, 404: Refusal{}, 503: SidecarInfo{}}, (*Agent).serveSidecar)
	both("cluster", "The council with its roles in the group.", "", reader, map[int]any{200: ClusterInfo{}, 404: Refusal{}}, (*Agent).serveCluster)
	all = append(all,
		route{method: "GET", path: "/v1/groups/{group}/sse", requires: reader, stream: true, summary: "As sidecar, whenever that changes.", out: map[int]any{200: SidecarInfo{}, 404: Refusal{}, 503: Refusal{}}, serve: (*Agent).serveSidecarStream},
		route{method: "GET", path: "/sse", requires: reader, stream: true, summary: "As sidecar, whenever that changes. Of the default group.", out: map[int]any{200: SidecarInfo{}, 404: Refusal{}, 503: Refusal{}}, serve: (*Agent).serveSidecarStream})
	front := map[int]any{200: RoleInfo{}, 404: Refusal{}, 503: RoleInfo{}}
	sent := maps.Clone(front)
	sent[http.StatusFound] = ""
	all = append(all,
		route{method: "GET", path: "/", summary: "As primary, of the default group. A browser is sent to the dashboard, if there is one.", out: sent, serve: (*Agent).serveFront},
		route{method: "OPTIONS", path: "/", summary: "As primary, of the default group.", out: front, serve: (*Agent).serveFront})
	return append(all, patroniRoutes()...)
}

// role returns what a role endpoint looks at. The lease is asked now.
func (a *Agent) role(group string) RoleInfo {
	i := RoleInfo{Group: group, Role: "replica", State: "waiting", Member: a.name, Cause: regent.Cause{Why: why.Started}}
	if c, _ := a.changes.group(group); c != nil {
		i.Name, i.Token, i.Cause = c.Leader, c.Token, c.Cause
	}
	if a.member.Load() != nil { // one that has joined once takes part until it leaves
		i.State = "running"
	}
	if left := a.localLeases.remaining(group); left > 0 {
		i.Name, i.Role, i.Remaining = a.name, "standby_leader", left
		return i
	}
	k := a.leader(group)
	if k == nil {
		return i
	}
	if left := k.remaining(); left > 0 && k.leadsNow() {
		i.Name, i.Role, i.Token, i.Remaining = a.name, "primary", k.currentLease().Token(), left
	} else if i.Name == a.name {
		i.Name = "" // it did, until a moment ago
	}
	return i
}

// roleHandler answers a question. One about any group needs none.
func roleHandler(ask roleCheck, anyGroup bool) func(*Agent, http.ResponseWriter, *http.Request) {
	return func(a *Agent, w http.ResponseWriter, q *http.Request) {
		group, err := a.groupOf(q)
		if err != nil && (!anyGroup || !errors.Is(err, errNoGroup)) {
			writeError(w, err)
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
		writeJSON(w, status, i)
	}
}

// serveFront answers /, which is several things at once: the page for people, and for others the role of the default group.
func (a *Agent) serveFront(w http.ResponseWriter, q *http.Request) {
	if a.options.Dashboard != nil && q.Method == http.MethodGet && strings.Contains(q.Header.Get("Accept"), "text/html") {
		http.Redirect(w, q, "/ui/", http.StatusFound)
		return
	}
	roleHandler(isPrimary, false)(a, w, q)
}

// sidecarTimeout is how long a sidecar's question may take to be proven.
const sidecarTimeout = time.Second

// sidecar says who leads, proven.
func (a *Agent) sidecar(ctx context.Context, group string) (SidecarInfo, bool) {
	out := SidecarInfo{LastUpdate: time.Now()}
	if c, _ := a.changes.group(group); c != nil {
		out.LastUpdate = c.At
	}
	if k := a.leader(group); k != nil && k.leadsNow() {
		out.Name = a.name
		return out, true
	}
	ctx, cancel := context.WithTimeout(ctx, sidecarTimeout)
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
		writeError(w, err)
		return
	}
	i, ok := a.sidecar(q.Context(), group)
	status := http.StatusOK
	if !ok {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, i)
}

func (a *Agent) serveSidecarStream(w http.ResponseWriter, q *http.Request) {
	a.streamOf(w, q, func(s *stream, group string, watch *watcher, _ []*Change) {
		ticker := time.NewTicker(commentInterval)
		defer ticker.Stop()
		for {
			i, _ := a.sidecar(q.Context(), group)
			if s.send("message", i) != nil {
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
