package httpd

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/internal/names"
	"github.com/regentproject/regent/why"
)

// An orderRow is a row of the table of what operators may ask for.
type orderRow struct {
	Route
	// passes says that the order is passed on to the host that has to carry it out.
	passes bool
	// body returns an empty body, and about what the audit log has of one: the member that it names, and more.
	body  func() any
	about func(body any) (to, what string)
	// do gives the order, and waits for its outcome.
	do func(ctx context.Context, group string, body any) (status int, out any, err error)
}

// newOrder returns a row. The body of the order is a B; about may be nil.
func newOrder[B any](r Route, about func(*B) (to, what string), do func(ctx context.Context, group string, body *B) (status int, out any, err error)) orderRow {
	r.Method, r.Requires, r.In = "POST", access.Writer, *new(B)
	return orderRow{
		Route: r,
		body:  func() any { return new(B) },
		about: func(body any) (to, what string) {
			if about == nil {
				return "", ""
			}
			return about(body.(*B))
		},
		do: func(ctx context.Context, group string, body any) (int, any, error) { return do(ctx, group, body.(*B)) },
	}
}

// orders is the table.
func (s *Server) orders() []orderRow {
	outcomes := func(done any, more ...int) map[int]any {
		out := map[int]any{200: done, 400: api.Refusal{}, 409: api.Refusal{}, 413: api.Refusal{}, 503: api.Refusal{}}
		for _, status := range more {
			out[status] = api.Refusal{}
			if status == http.StatusAccepted {
				out[status] = done
			}
		}
		return out
	}
	table := []orderRow{
		newOrder(Route{Path: "/v1/groups/{group}/resign", Right: access.MayOperate, Audit: "resign", Out: outcomes(api.Outcome{}, 404, 504),
			Summary: "Ask the program that leads to stop, on whatever host, and give the group up once it has; 504: the outcome is unknown."}, nil, s.resign),
		newOrder(Route{Path: "/v1/groups/{group}/transfer", Right: access.MayOperate, Audit: "transfer", Out: outcomes(api.Outcome{}, 404, 504),
			Summary: "Ask the program that leads to stop, on whatever host, and hand the group over to another member once it has; 504: the outcome is unknown."},
			func(o *api.TransferOrder) (string, string) { return o.To, "" }, s.transfer),
		newOrder(Route{Path: "/v1/groups/{group}/edict", Right: access.MayLead, Out: outcomes(api.StampInfo{}, 404),
			Summary: "Stamp an order of the program here that leads."}, nil, s.edict),
		newOrder(Route{Path: "/v1/drain", Right: access.MayOperate, All: true, Audit: "drain", Out: outcomes(api.Drained{}, 504),
			Summary: "Move all leadership away from a host, and keep it away, also after a restart of its agent; 504: the outcome is unknown."}, nil, s.drain(true)),
		newOrder(Route{Path: "/v1/undrain", Right: access.MayOperate, All: true, Audit: "undrain", Out: outcomes(api.Drained{}, 504),
			Summary: "Let programs of a host lead again; 504: the outcome is unknown."}, nil, s.drain(false)),
		newOrder(Route{Path: "/v1/council", Right: access.MayOperate, All: true, Audit: "members", Out: outcomes(api.CouncilInfo{}, 202),
			Summary: "Add, remove, replace or change members while the council runs; 202 while the change goes on."},
			func(o *api.CouncilOrder) (string, string) { return "", o.String() }, s.changeCouncil),
		newOrder(Route{Path: "/v1/council/recover", Right: access.MayOperate, All: true, Audit: "recover", Out: outcomes(api.RecoverInfo{}, 202),
			Summary: "Give up a council that has lost a majority for good, and go on with the members that are left; 202 while they wait."}, nil, s.recoverCouncil),
		newOrder(Route{Path: "/v1/council/acknowledge", Right: access.MayOperate, All: true, Audit: "acknowledge", Out: outcomes(api.CouncilInfo{}),
			Summary: "Take note of what can no longer be promised since a council was given up."}, nil, s.acknowledge),
		newOrder(Route{Path: "/v1/keys", Out: outcomes(api.Health{}),
			Summary: "Write to the audit log who has changed keys in the files of this host, and put them in force if asked to: for 'regent keys', on the unix socket."}, nil, s.keysChanged),
	}
	for i := range table {
		table[i].passes = slices.Contains([]string{"resign", "transfer", "drain", "undrain"}, table[i].Audit)
	}
	return table
}

// writeRoutes are the routes that change something.
func (s *Server) writeRoutes() (out []Route) {
	for _, o := range s.orders() {
		o.Serve = func(w http.ResponseWriter, q *http.Request) { s.serveOrder(w, q, &o) }
		out = append(out, o.Route)
	}
	return out
}

// serveOrder gives the order of a request.
func (s *Server) serveOrder(w http.ResponseWriter, q *http.Request, o *orderRow) {
	body := o.body()
	err := Decode(q, body)
	to, what := o.about(body)
	AuditOrder(w, to, what)
	group := ""
	if err == nil && strings.Contains(o.Path, "{group}") {
		group, err = s.GroupOf(q)
	}
	if err != nil {
		WriteError(w, err)
		return
	}
	s.Answer(w, q, func(ctx context.Context) (int, any, error) {
		at, status, out, err := s.give(ctx, o, group, body)
		auditAt(w, at)
		return status, out, err
	})
}

// Answer answers a request with the outcome of what it asks for, which may take as long as its sender waits.
func (s *Server) Answer(w http.ResponseWriter, q *http.Request, do func(ctx context.Context) (status int, out any, err error)) {
	withoutDeadline(w)
	status, out, err := do(q.Context())
	switch {
	case errors.Is(err, context.Canceled): // the sender does not wait for an answer
	case err != nil:
		WriteError(w, err)
	default:
		WriteJSON(w, status, out)
	}
}

// Order gives an order to a candidate, which is to hand over to a member if one is named, and waits for its outcome.
func (s *Server) Order(ctx context.Context, k *core.Candidate, o *core.Order, to string) (status int, out any, err error) {
	if err := s.core.Order(ctx, k, o); err != nil {
		return 0, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.core.About().Timing.Lease)
	defer cancel()
	return http.StatusOK, s.core.LeaderAfter(ctx, k.Group, k.Number(), to), nil
}

// leaderOf returns the candidate that leads a group here, if it has the token. command is what to say where it is led instead.
func (s *Server) leaderOf(ctx context.Context, group string, token uint64, command string) (*core.Candidate, error) {
	k, err := s.core.LeaderOfGroup(group, token, command)
	var known *api.Error
	if !errors.As(err, &known) || known.Status != http.StatusNotFound {
		return k, err
	}
	var all []string
	list, _ := s.core.Known().List("", "", 0)
	for may := s.gate.Readable(ctx); len(list) > 0; list = list[1:] {
		if may(list[0].Group) {
			all = append(all, list[0].Group)
		}
	}
	if near := names.Nearest(group, all); near != "" {
		err = api.Errorf(known.Status, "%w (did you mean %s?)", err, near)
	}
	return k, err
}

func (s *Server) resign(ctx context.Context, group string, body *api.ResignOrder) (status int, out any, err error) {
	k, err := s.leaderOf(ctx, group, body.Token, core.ResignCommand(group))
	if err != nil {
		return 0, nil, err
	}
	return s.Order(ctx, k, core.NewOrder(regent.Cause{Why: why.Resigned, Member: s.core.About().Name}, ""), "")
}

func (s *Server) transfer(ctx context.Context, group string, body *api.TransferOrder) (status int, out any, err error) {
	if err := s.core.CheckMember(body.To); err != nil {
		return 0, nil, err
	}
	k, err := s.leaderOf(ctx, group, body.Token, core.TransferCommand(group, body.To))
	if err == nil {
		err = s.core.CheckSuccessor(body.To)
	}
	if err != nil {
		return 0, nil, err
	}
	return s.Order(ctx, k, core.NewOrder(regent.Cause{Why: why.Transferred, Member: body.To}, body.To), body.To)
}

// drain returns what drains this host, or undrains it, and returns when that is done.
func (s *Server) drain(drain bool) func(context.Context, string, *api.DrainOrder) (int, any, error) {
	return func(ctx context.Context, _ string, body *api.DrainOrder) (int, any, error) {
		out, err := s.core.Drain(ctx, drain, body)
		return http.StatusOK, out, err
	}
}

func (s *Server) changeCouncil(ctx context.Context, _ string, body *api.CouncilOrder) (int, any, error) {
	out, err := s.core.ChangeCouncil(ctx, body)
	if out.Done || body.DryRun {
		return http.StatusOK, out, err
	}
	return http.StatusAccepted, out, err
}

func (s *Server) recoverCouncil(ctx context.Context, _ string, body *api.RecoverOrder) (int, any, error) {
	out, err := s.core.RecoverCouncil(ctx, body)
	if out.Done {
		return http.StatusOK, out, err
	}
	return http.StatusAccepted, out, err
}

func (s *Server) acknowledge(ctx context.Context, _ string, _ *api.AcknowledgeOrder) (int, any, error) {
	out, err := s.core.AcknowledgeCouncil(ctx)
	return http.StatusOK, out, err
}

func (s *Server) keysChanged(ctx context.Context, _ string, body *access.KeyChange) (int, any, error) {
	if err := s.gate.Audit.KeyChange(access.ClientOf(ctx), body); err != nil {
		return 0, nil, err
	}
	if body.Reread {
		if err := s.Reread(); err != nil {
			return 0, nil, api.WithStatus(http.StatusConflict, err)
		}
	}
	return http.StatusOK, api.Health{OK: true}, nil
}

func (s *Server) edict(ctx context.Context, group string, body *api.EdictOrder) (int, any, error) {
	if e := s.core.Status().Engine; e != nil && !e.Fences {
		return 0, nil, api.Errorf(http.StatusConflict, "engine %s: a stamp for a fence: %w (it offers no tokens)", e.Name, engine.ErrUnsupported)
	}
	if body.Token == 0 {
		return 0, nil, api.Errorf(http.StatusBadRequest, "missing token (send the leader's token in \"token\")")
	}
	k, err := s.leaderOf(ctx, group, body.Token, "")
	switch {
	case err != nil:
		return 0, nil, err
	case !k.LeadsNow():
		return 0, nil, regent.ErrNotLeader
	}
	e, err := k.CurrentLease().Edict(ctx)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, api.StampInfo{Group: k.Group, Token: e.Token(), Stamp: e.String()}, nil
}
