package httpd

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/core"
)

// A roleCheck is what a role endpoint asks. It gets what is known, and says yes or no.
type roleCheck func(a *Server, i *api.RoleInfo) bool

// isPrimary: a program here leads, and its lease runs at this moment.
func isPrimary(_ *Server, i *api.RoleInfo) bool { return i.Role == "primary" }

// isReplica: the member is well, another one leads, and this host's tags do not keep load away from it.
func isReplica(a *Server, i *api.RoleInfo) bool {
	return a.core.Config().Tags["noloadbalance"] != "true" && i.Role == "replica" && i.State == "running" && i.Name != "" && i.Name != a.core.About().Name
}

// isRunning: the member takes part.
func isRunning(_ *Server, i *api.RoleInfo) bool { return i.State == "running" }

// knowsLeader: the member takes part, and sees a leader.
func knowsLeader(_ *Server, i *api.RoleInfo) bool { return i.State == "running" && i.Name != "" }

// always: the agent answers at all.
func always(*Server, *api.RoleInfo) bool { return true }

// isLocalLeader: this host leads its part of the network.
func isLocalLeader(_ *Server, i *api.RoleInfo) bool { return i.Role == "standby_leader" }

// isAlive: the member's loop runs.
func isAlive(a *Server, _ *api.RoleInfo) bool { return a.core.Alive() }

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
func (s *Server) roleRoutes() []Route {
	var all []Route
	both := func(path, says, without string, needs access.Role, out map[int]any, serve http.HandlerFunc) {
		for _, base := range []string{"/v1/groups/{group}/", "/"} {
			text := says
			if base == "/" {
				text += " Of the default group" + without + "."
			}
			for _, method := range []string{"GET", "OPTIONS"} { // GET answers HEAD too
				all = append(all, Route{Method: method, Path: base + path, Summary: text, Requires: needs, Out: out, Serve: serve})
			}
		}
	}
	for _, r := range roleChecks {
		without := ""
		if r.any {
			without = ", or of none if there is none"
		}
		both(r.path, r.says+" 503 if a parameter tag_NAME=VALUE is not a tag of this host.", without, access.Anonymous, map[int]any{200: api.RoleInfo{}, 404: api.Refusal{}, 503: api.RoleInfo{}}, s.roleHandler(r.ask, r.any))
	}
	both("sidecar", "Who leads, proven at the moment of answering; 503 and an empty name if nobody is.", "", access.Reader, map[int]any{200: api.SidecarInfo{}, 404: api.Refusal{}, 503: api.SidecarInfo{}}, s.serveSidecar)
	all = append(all,
		Route{Method: "GET", Path: "/v1/groups/{group}/sse", Requires: access.Reader, Stream: true, Summary: "As sidecar, whenever that changes.", Out: map[int]any{200: api.SidecarInfo{}, 404: api.Refusal{}, 503: api.Refusal{}}, Serve: s.serveSidecarStream},
		Route{Method: "GET", Path: "/sse", Requires: access.Reader, Stream: true, Summary: "As sidecar, whenever that changes. Of the default group.", Out: map[int]any{200: api.SidecarInfo{}, 404: api.Refusal{}, 503: api.Refusal{}}, Serve: s.serveSidecarStream})
	front := map[int]any{200: api.RoleInfo{}, 404: api.Refusal{}, 503: api.RoleInfo{}}
	sent := maps.Clone(front)
	sent[http.StatusFound] = ""
	all = append(all,
		Route{Method: "GET", Path: "/", Summary: "As primary, of the default group. A browser is sent to the dashboard, if there is one.", Out: sent, Serve: s.serveFront},
		Route{Method: "OPTIONS", Path: "/", Summary: "As primary, of the default group.", Out: front, Serve: s.serveFront})
	return all
}

// roleHandler answers a question. One about any group needs none.
func (a *Server) roleHandler(ask roleCheck, anyGroup bool) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		group, err := a.GroupOf(q)
		if err != nil && (!anyGroup || !errors.Is(err, ErrNoGroup)) {
			WriteError(w, err)
			return
		}
		i := a.core.Role(group)
		status := http.StatusServiceUnavailable
		if ask(a, &i) && a.tagged(q) {
			status = http.StatusOK
		}
		if i.Token != 0 {
			w.Header().Set("Regent-Token", Itoa(i.Token))
		}
		WriteJSON(w, status, i)
	}
}

// serveFront answers /, which is several things at once: the page for people, and for others the role of the default group.
func (a *Server) serveFront(w http.ResponseWriter, q *http.Request) {
	if a.Dashboard != nil && q.Method == http.MethodGet && strings.Contains(q.Header.Get("Accept"), "text/html") {
		http.Redirect(w, q, "/ui/", http.StatusFound)
		return
	}
	a.roleHandler(isPrimary, false)(w, q)
}

// sidecarTimeout is how long a sidecar's question may take to be proven.
const sidecarTimeout = time.Second

// sidecar says who leads, proven.
func (a *Server) sidecar(ctx context.Context, group string) (api.SidecarInfo, bool) {
	out := api.SidecarInfo{LastUpdate: time.Now()}
	if c, _ := a.core.Known().Group(group); c != nil {
		out.LastUpdate = c.At
	}
	if k := a.core.Leader(group); k != nil && k.LeadsNow() {
		out.Name = a.core.About().Name
		return out, true
	}
	ctx, cancel := context.WithTimeout(ctx, sidecarTimeout)
	defer cancel()
	if p, err := a.core.Verify(ctx, group); err == nil && p.Valid() {
		out.Name = p.Leader
		return out, true
	}
	return out, false
}

func (a *Server) serveSidecar(w http.ResponseWriter, q *http.Request) {
	group, err := a.GroupOf(q)
	if err != nil {
		WriteError(w, err)
		return
	}
	i, ok := a.sidecar(q.Context(), group)
	status := http.StatusOK
	if !ok {
		status = http.StatusServiceUnavailable
	}
	WriteJSON(w, status, i)
}

func (a *Server) serveSidecarStream(w http.ResponseWriter, q *http.Request) {
	a.streamOf(w, q, func(s *stream, group string, watch *core.Watcher, _ []*api.Change) {
		ticker := time.NewTicker(commentInterval)
		defer ticker.Stop()
		for {
			i, _ := a.sidecar(q.Context(), group)
			if s.send("message", i) != nil {
				return
			}
			select {
			case <-watch.C:
			case <-ticker.C:
			case <-q.Context().Done():
				return
			}
		}
	})
}

// tagged says whether a request asks for tags that this host has. Patroni's parameters for that begin with tag_.
func (a *Server) tagged(q *http.Request) bool {
	tags := a.core.Config().Tags
	for name, values := range q.URL.Query() {
		if tag, ok := strings.CutPrefix(name, "tag_"); ok && !slices.Contains(values, tags[tag]) {
			return false
		}
	}
	return true
}

func Itoa(n uint64) string { return strconv.FormatUint(n, 10) }
