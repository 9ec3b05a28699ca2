package httpd

import (
	"context"
	"errors"
	"net/http"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/why"
)

// writeRoutes are the routes that change something.
func (s *Server) writeRoutes() []Route {
	refused := map[int]any{200: api.Outcome{}, 400: api.Refusal{}, 404: api.Refusal{}, 409: api.Refusal{}, 413: api.Refusal{}, 503: api.Refusal{}}
	drained := map[int]any{200: api.Drained{}, 400: api.Refusal{}, 409: api.Refusal{}, 413: api.Refusal{}, 503: api.Refusal{}}
	return []Route{
		{Method: "POST", Path: "/v1/groups/{group}/resign", Requires: access.Writer, Right: access.MayOperate, Audit: "resign", In: api.ResignOrder{}, Out: refused,
			Summary: "Ask the program here that leads to stop, and give the group up once it has.", Serve: s.serveResign},
		{Method: "POST", Path: "/v1/groups/{group}/transfer", Requires: access.Writer, Right: access.MayOperate, Audit: "transfer", In: api.TransferOrder{}, Out: refused,
			Summary: "Ask the program here that leads to stop, and hand the group over to another member once it has.", Serve: s.serveTransfer},
		{Method: "POST", Path: "/v1/groups/{group}/edict", Requires: access.Writer, Right: access.MayLead, In: api.EdictOrder{},
			Out:     map[int]any{200: api.StampInfo{}, 400: api.Refusal{}, 404: api.Refusal{}, 409: api.Refusal{}, 413: api.Refusal{}},
			Summary: "Stamp an order of the program here that leads.", Serve: s.serveEdict},
		{Method: "POST", Path: "/v1/drain", Requires: access.Writer, Right: access.MayOperate, All: true, Audit: "drain", In: api.DrainOrder{}, Out: drained,
			Summary: "Move all leadership away from this host, and keep it away, also after a restart of the agent.", Serve: s.serveDrain(true)},
		{Method: "POST", Path: "/v1/undrain", Requires: access.Writer, Right: access.MayOperate, All: true, Audit: "undrain", In: api.DrainOrder{}, Out: drained,
			Summary: "Let programs of this host lead again.", Serve: s.serveDrain(false)},
		{Method: "POST", Path: "/v1/council", Requires: access.Writer, Right: access.MayOperate, All: true, Audit: "members", In: api.CouncilOrder{},
			Out:     map[int]any{200: api.CouncilInfo{}, 202: api.CouncilInfo{}, 400: api.Refusal{}, 409: api.Refusal{}, 413: api.Refusal{}, 503: api.Refusal{}},
			Summary: "Add, remove, replace or change members while the council runs; 202 while the change goes on.", Serve: s.serveCouncilChange},
		{Method: "POST", Path: "/v1/council/recover", Requires: access.Writer, Right: access.MayOperate, All: true, Audit: "recover", In: api.RecoverOrder{},
			Out:     map[int]any{200: api.RecoverInfo{}, 202: api.RecoverInfo{}, 400: api.Refusal{}, 409: api.Refusal{}, 413: api.Refusal{}, 503: api.Refusal{}},
			Summary: "Give up a council that has lost a majority for good, and go on with the members that are left; 202 while they wait.", Serve: s.serveRecover},
		{Method: "POST", Path: "/v1/council/acknowledge", Requires: access.Writer, Right: access.MayOperate, All: true, Audit: "acknowledge", In: api.AcknowledgeOrder{},
			Out:     map[int]any{200: api.CouncilInfo{}, 400: api.Refusal{}, 409: api.Refusal{}, 413: api.Refusal{}, 503: api.Refusal{}},
			Summary: "Take note of what can no longer be promised since a council was given up.", Serve: s.serveAcknowledge},
		{Method: "POST", Path: "/v1/keys", Requires: access.Writer, In: access.KeyChange{}, Out: map[int]any{200: api.Health{}, 400: api.Refusal{}, 413: api.Refusal{}, 503: api.Refusal{}},
			Summary: "Write to the audit log who has changed keys in the files of this host: for 'regent keys', on the unix socket.", Serve: s.serveKeyChange},
	}
}

// leaderOf returns the candidate that leads the group of a request here, if it has the token. command is what to say where
// it is led instead.
func (a *Server) leaderOf(q *http.Request, token uint64, command string) (*core.Candidate, error) {
	group, err := a.GroupOf(q)
	if err != nil {
		return nil, err
	}
	return a.core.LeaderOfGroup(group, token, command)
}

func (a *Server) serveResign(w http.ResponseWriter, q *http.Request) {
	var body api.ResignOrder
	var k *core.Candidate
	err := Decode(q, &body)
	if err == nil {
		k, err = a.leaderOf(q, body.Token, core.ResignCommand(q.PathValue("group")))
	}
	if err == nil {
		err = a.OrderWithoutTimeout(w, q, k, core.NewOrder(regent.Cause{Why: why.Resigned, Member: a.core.About().Name}, ""))
	}
	a.AnswerOrder(w, q, k, "", err)
}

func (a *Server) serveKeyChange(w http.ResponseWriter, q *http.Request) {
	var body access.KeyChange
	err := Decode(q, &body)
	if err == nil {
		err = a.gate.Audit.KeyChange(access.ClientOf(q.Context()), &body)
	}
	if err != nil {
		WriteError(w, err)
		return
	}
	WriteJSON(w, http.StatusOK, api.Health{OK: true})
}

func (a *Server) serveTransfer(w http.ResponseWriter, q *http.Request) {
	var body api.TransferOrder
	var k *core.Candidate
	err := Decode(q, &body)
	AuditOrder(w, body.To, "")
	if err == nil {
		k, err = a.leaderOf(q, body.Token, core.TransferCommand(q.PathValue("group"), body.To))
	}
	if err == nil {
		err = a.core.CheckSuccessor(body.To)
	}
	if err == nil {
		err = a.OrderWithoutTimeout(w, q, k, core.NewOrder(regent.Cause{Why: why.Transferred, Member: body.To}, body.To))
	}
	a.AnswerOrder(w, q, k, body.To, err)
}

// serveDrain drains this host, or undrains it, and answers when that is done.
func (a *Server) serveDrain(drain bool) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		var body api.DrainOrder
		err := Decode(q, &body)
		var out api.Drained
		if err == nil {
			withoutDeadline(w)
			out, err = a.core.Drain(q.Context(), drain, &body)
		}
		switch {
		case errors.Is(err, context.Canceled): // the sender does not wait for an answer
		case err != nil:
			WriteError(w, err)
		default:
			WriteJSON(w, http.StatusOK, out)
		}
	}
}

// serveCouncilChange changes the council.
func (a *Server) serveCouncilChange(w http.ResponseWriter, q *http.Request) {
	var body api.CouncilOrder
	err := Decode(q, &body)
	AuditOrder(w, "", body.String())
	var out api.CouncilInfo
	if err == nil {
		withoutDeadline(w)
		out, err = a.core.ChangeCouncil(q.Context(), &body)
	}
	switch {
	case errors.Is(err, context.Canceled): // the sender does not wait for an answer
	case err != nil:
		WriteError(w, err)
	case out.Done || body.DryRun:
		WriteJSON(w, http.StatusOK, out)
	default:
		WriteJSON(w, http.StatusAccepted, out)
	}
}

// serveRecover gives the council up.
func (a *Server) serveRecover(w http.ResponseWriter, q *http.Request) {
	var body api.RecoverOrder
	err := Decode(q, &body)
	var out api.RecoverInfo
	if err == nil {
		withoutDeadline(w)
		out, err = a.core.RecoverCouncil(q.Context(), &body)
	}
	switch {
	case errors.Is(err, context.Canceled): // the sender does not wait for an answer
	case err != nil:
		WriteError(w, err)
	case out.Done:
		WriteJSON(w, http.StatusOK, out)
	default:
		WriteJSON(w, http.StatusAccepted, out)
	}
}

// serveAcknowledge takes note of what can no longer be promised.
func (a *Server) serveAcknowledge(w http.ResponseWriter, q *http.Request) {
	var body api.AcknowledgeOrder
	err := Decode(q, &body)
	var out api.CouncilInfo
	if err == nil {
		withoutDeadline(w)
		out, err = a.core.AcknowledgeCouncil(q.Context())
	}
	switch {
	case errors.Is(err, context.Canceled): // the sender does not wait for an answer
	case err != nil:
		WriteError(w, err)
	default:
		WriteJSON(w, http.StatusOK, out)
	}
}

// OrderWithoutTimeout gives an order and waits for its outcome, for as long as its sender does.
func (a *Server) OrderWithoutTimeout(w http.ResponseWriter, q *http.Request, k *core.Candidate, o *core.Order) error {
	withoutDeadline(w)
	return a.core.Order(q.Context(), k, o)
}

// AnswerOrder answers an order to a candidate, which was to hand over to a member if one is named.
func (a *Server) AnswerOrder(w http.ResponseWriter, q *http.Request, k *core.Candidate, to string, err error) {
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return // nobody waits for an answer
		}
		WriteError(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(q.Context(), a.core.About().Timing.Lease)
	defer cancel()
	WriteJSON(w, http.StatusOK, a.core.LeaderAfter(ctx, k.Group, k.Number(), to))
}

func (a *Server) serveEdict(w http.ResponseWriter, q *http.Request) {
	var body api.EdictOrder
	if err := Decode(q, &body); err != nil {
		WriteError(w, err)
		return
	}
	if e := a.core.Status().Engine; e != nil && !e.Fences {
		WriteError(w, api.Errorf(http.StatusConflict, "engine %s: a stamp for a fence: %w (it offers no tokens)", e.Name, engine.ErrUnsupported))
		return
	}
	if body.Token == 0 {
		WriteError(w, api.Errorf(http.StatusBadRequest, "missing token (send the leader's token in \"token\")"))
		return
	}
	k, err := a.leaderOf(q, body.Token, "")
	if err != nil {
		WriteError(w, err)
		return
	}
	if !k.LeadsNow() {
		WriteError(w, regent.ErrNotLeader)
		return
	}
	e, err := k.CurrentLease().Edict(q.Context())
	if err != nil {
		WriteError(w, err)
		return
	}
	WriteJSON(w, http.StatusOK, api.StampInfo{Group: k.Group, Token: e.Token(), Stamp: e.String()})
}
