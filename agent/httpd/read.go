package httpd

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/core"
)

// readRoutes are the routes that change nothing.
func (s *Server) readRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/v1/status", Requires: access.Reader, Summary: "How the agent and its member are.", Out: map[int]any{200: api.AgentStatus{}},
			Serve: s.serveStatus},
		{Method: "GET", Path: "/v1/members", Requires: access.Reader, Summary: "The council, as this member knows it, in the order in which members go first.",
			Out: map[int]any{200: api.MemberList{}, 503: api.Refusal{}}, Serve: s.serveMembers},
		{Method: "GET", Path: "/v1/council", Requires: access.Reader, Summary: "Which members the council has, and how far a change of it has got.",
			Out: map[int]any{200: api.CouncilInfo{}, 503: api.Refusal{}}, Serve: s.serveCouncil},
		{Method: "GET", Path: "/v1/groups", Requires: access.Reader, Summary: "All groups that were heard of, by name.", Out: map[int]any{200: api.GroupList{}, 400: api.Refusal{}},
			Query: map[string]string{"prefix": "how the names begin", "after": "the name to go on after", "limit": "how many at most; 1000 if not given"},
			Serve: s.serveGroups},
		{Method: "GET", Path: "/v1/groups/{group}", Requires: access.Reader, Summary: "One group: who leads it as far as this member knows, and the programs here that take part.",
			Out: map[int]any{200: api.GroupInfo{}, 404: api.Refusal{}}, Serve: s.serveGroup},
		{Method: "GET", Path: "/v1/groups/{group}/history", Requires: access.Reader, Summary: "The last changes of a group, with their causes, oldest first.",
			Out: map[int]any{200: api.History{}, 400: api.Refusal{}, 404: api.Refusal{}}, Query: map[string]string{"limit": "how many at most; 100 if not given"}, Serve: s.serveHistory},
		{Method: "GET", Path: "/v1/history", Requires: access.Reader, Summary: "The last changes of all groups, with their causes, oldest first, and those of the council.",
			Out: map[int]any{200: api.History{}, 400: api.Refusal{}}, Query: map[string]string{"limit": "how many at most; 100 if not given"}, Serve: s.serveHistory},
		{Method: "GET", Path: "/v1/groups/{group}/verify", Requires: access.Reader, Summary: "Ask the leader itself whether it leads: a proof, or 503.",
			Out: map[int]any{200: api.ProofInfo{}, 404: api.Refusal{}, 409: api.Refusal{}, 503: api.Refusal{}}, Serve: s.serveVerify},
		{Method: "GET", Path: "/v1/sessions", Requires: access.Reader, Summary: "The programs that take part through this agent.", Out: map[int]any{200: api.SessionList{}},
			Serve: func(w http.ResponseWriter, q *http.Request) {
				may := s.gate.Readable(q.Context())
				WriteJSON(w, http.StatusOK, api.SessionList{Sessions: slices.DeleteFunc(s.core.Sessions(""), func(i api.SessionInfo) bool { return !may(i.Group) })})
			}},
		{Method: "GET", Path: "/healthz", Summary: "200 while the agent answers.", Out: map[int]any{200: api.Health{}},
			Serve: func(w http.ResponseWriter, _ *http.Request) { WriteJSON(w, http.StatusOK, api.Health{OK: true}) }},
		{Method: "GET", Path: "/readyz", Summary: "200 while the member takes part and nothing is wrong with its clock and its disk.",
			Out: map[int]any{200: api.Health{}, 503: api.Health{}}, Serve: s.serveReady},
	}
}

func (a *Server) serveStatus(w http.ResponseWriter, q *http.Request) {
	out := a.core.Status()
	if access.ClientOf(q.Context()).Local {
		out.CouncilID = a.core.CouncilID()
	}
	WriteJSON(w, http.StatusOK, out)
}

func (a *Server) serveCouncil(w http.ResponseWriter, q *http.Request) {
	out, err := a.core.Council()
	if err != nil {
		WriteError(w, err)
		return
	}
	if !access.ClientOf(q.Context()).Local {
		out.ID = ""
	}
	WriteJSON(w, http.StatusOK, out)
}

func (a *Server) serveMembers(w http.ResponseWriter, _ *http.Request) {
	members := a.core.Members()
	if members == nil {
		WriteError(w, core.ErrJoining)
		return
	}
	s := a.core.Status()
	WriteJSON(w, http.StatusOK, api.MemberList{Members: members, Waiting: s.Waiting, QuorumVotes: s.QuorumVotes})
}

func (a *Server) serveGroups(w http.ResponseWriter, q *http.Request) {
	limit, err := queryInt(q, "limit", 1000, 10_000)
	if err != nil {
		WriteError(w, err)
		return
	}
	found, more := a.core.Known().List(q.URL.Query().Get("prefix"), q.URL.Query().Get("after"), limit)
	out := api.GroupList{Groups: make([]api.GroupInfo, 0, len(found))}
	may := a.gate.Readable(q.Context())
	for _, c := range found {
		if may(c.Group) {
			out.Groups = append(out.Groups, a.core.Info(c))
		}
	}
	if more {
		out.Next = found[len(found)-1].Group
	}
	WriteJSON(w, http.StatusOK, out)
}

func (a *Server) serveGroup(w http.ResponseWriter, q *http.Request) {
	c, err := a.ChangeOf(q)
	if err != nil {
		WriteError(w, err)
		return
	}
	out := a.core.Info(c)
	out.Candidates = a.core.Sessions(c.Group)
	WriteJSON(w, http.StatusOK, out)
}

func (a *Server) serveHistory(w http.ResponseWriter, q *http.Request) {
	limit, err := queryInt(q, "limit", 100, core.MaxChanges)
	if err != nil {
		WriteError(w, err)
		return
	}
	group := q.PathValue("group")
	if group != "" {
		if _, err := a.GroupOf(q); err != nil {
			WriteError(w, err)
			return
		}
	}
	var council []*api.CouncilChange
	found := a.core.Known().History(group, limit)
	if group == "" {
		found, council = a.core.Known().Recent(limit)
	}
	if c, _ := a.core.Known().Group(group); group != "" && c == nil && len(found) == 0 {
		WriteError(w, a.core.UnknownGroup(group))
		return
	}
	out := api.History{Changes: []api.Change{}}
	may := a.gate.Readable(q.Context())
	for _, c := range found {
		if !may(c.Group) {
			continue
		}
		out.Changes = append(out.Changes, *c)
	}
	for _, c := range council {
		out.Council = append(out.Council, *c)
	}
	WriteJSON(w, http.StatusOK, out)
}

// queryInt reads a parameter that is a number.
func queryInt(q *http.Request, name string, without, most int) (int, error) {
	text := q.URL.Query().Get(name)
	if text == "" {
		return without, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, api.Errorf(http.StatusBadRequest, "%s %.40q: must be a number from 1 to %d", name, text, most)
	}
	return min(n, most), nil
}

func (a *Server) serveVerify(w http.ResponseWriter, q *http.Request) {
	group, err := a.GroupOf(q)
	if err != nil {
		WriteError(w, err)
		return
	}
	p, err := a.core.Verify(q.Context(), group)
	if err != nil {
		WriteError(w, err)
		return
	}
	left := p.Remaining()
	if left <= 0 {
		WriteError(w, core.ErrLateProof)
		return
	}
	WriteJSON(w, http.StatusOK, api.ProofInfo{Group: group, Leader: p.Leader, Token: p.Token, Value: p.Value, ValidFor: left})
}

func (a *Server) serveReady(w http.ResponseWriter, _ *http.Request) {
	if why := a.core.NotReady(); why != "" {
		WriteJSON(w, http.StatusServiceUnavailable, api.Health{Why: why})
		return
	}
	WriteJSON(w, http.StatusOK, api.Health{OK: true})
}
