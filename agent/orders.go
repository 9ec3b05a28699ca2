package agent

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/why"
)

// ResignOrder is the body of a resign: with a token it is carried out only if that is the leader's.
type ResignOrder struct {
	Token uint64 `json:"token,omitempty"`
}

// TransferOrder is the body of a transfer.
type TransferOrder struct {
	To    string `json:"to"`
	Token uint64 `json:"token,omitempty"`
}

// EdictOrder is the body of an edict: it is given only to whom has the leader's token.
type EdictOrder struct {
	Token uint64 `json:"token"`
}

// Outcome is what became of an order.
type Outcome struct {
	Group string `json:"group"`
	// Leader is who leads after the order: of a transfer the successor, of a resign whoever is known to lead by now, empty if
	// nobody is. It is never the leadership that the order ended.
	Leader string `json:"leader"`
	// Token is the leader's; 0 if this member has not heard of it yet.
	Token uint64 `json:"token,omitempty"`
}

// StampInfo is an edict.
type StampInfo struct {
	Group string `json:"group"`
	Token uint64 `json:"token"`
	Stamp string `json:"stamp"`
}

// writeRoutes are the routes that change something.
func writeRoutes() []route {
	refused := map[int]any{200: Outcome{}, 400: Refusal{}, 404: Refusal{}, 409: Refusal{}, 413: Refusal{}, 503: Refusal{}}
	return []route{
		{method: "POST", path: "/v1/groups/{group}/resign", requires: writer, right: mayOperate, audit: "resign", in: ResignOrder{}, out: refused,
			summary: "Ask the program here that leads to stop, and give the group up once it has.", serve: (*Agent).serveResign},
		{method: "POST", path: "/v1/groups/{group}/transfer", requires: writer, right: mayOperate, audit: "transfer", in: TransferOrder{}, out: refused,
			summary: "Ask the program here that leads to stop, and hand the group over to another member once it has.", serve: (*Agent).serveTransfer},
		{method: "POST", path: "/v1/groups/{group}/edict", requires: writer, right: mayLead, in: EdictOrder{},
			out:     map[int]any{200: StampInfo{}, 400: Refusal{}, 404: Refusal{}, 409: Refusal{}, 413: Refusal{}},
			summary: "Stamp an order of the program here that leads.", serve: (*Agent).serveEdict},
	}
}

// leaderOf returns the candidate that leads the group of a request here, if it has the token. command is what to say where
// it is led instead.
func (a *Agent) leaderOf(q *http.Request, token uint64, command string) (*candidate, error) {
	group, err := a.groupOf(q)
	if err != nil {
		return nil, err
	}
	return a.leaderOfGroup(group, token, command)
}

// leaderOfGroup does not ask the change log first: a program may give orders before the agent has heard of its election like everybody else.
func (a *Agent) leaderOfGroup(group string, token uint64, command string) (*candidate, error) {
	k := a.leader(group)
	if k == nil {
		c, _ := a.changes.group(group)
		if c == nil {
			return nil, a.unknownGroup(group)
		}
		return nil, a.notLedHere(c, command)
	}
	if l := k.currentLease(); token != 0 && l.Token() != token {
		return nil, failf(http.StatusConflict, "group %s: token %d is not that of its leader, %d", group, token, l.Token())
	}
	return k, nil
}

// notLedHere says why no program here can be given an order about a group, and where to give it.
func (a *Agent) notLedHere(c *Change, command string) error {
	switch {
	case c.Mode != regent.Quorum:
		return failf(http.StatusConflict, "group %s is %s: hosts lead it by themselves, and there is nothing to resign, to hand over or to stamp", c.Group, c.Mode)
	case c.Leader == "":
		return failf(http.StatusConflict, "group %s: nobody leads it, as far as %s knows", c.Group, a.name)
	case c.Leader == a.name:
		return failf(http.StatusConflict, "group %s: no program here leads it any more", c.Group)
	}
	return failf(http.StatusConflict, "group %s: %s leads it, so only its agent can do that: %s", c.Group, c.Leader, a.commandAt(c.Leader, command))
}

// commandAt says how to give an order at another member.
func (a *Agent) commandAt(member, command string) string {
	where := "host " + member
	for _, m := range a.Members() {
		if host, _, err := net.SplitHostPort(m.Addr); err == nil && m.Name == member {
			where += " (" + host + ")"
		}
	}
	if command == "" {
		return "ask it on " + where
	}
	return "run '" + command + "' on " + where
}

// What to say at the leader's host.
func resignCommand(group string) string { return "regent resign " + group }
func transferCommand(group, to string) string {
	return "regent transfer " + group + " " + memberOrPlaceholder(to)
}

// switchCommand is either of the two: without a member it is given up to whoever is elected.
func switchCommand(group, to string) string {
	if to == "" {
		return resignCommand(group)
	}
	return transferCommand(group, to)
}

// memberOrPlaceholder stands for a member if none is named.
func memberOrPlaceholder(to string) string {
	if to == "" {
		return "MEMBER"
	}
	return to
}

func (a *Agent) serveResign(w http.ResponseWriter, q *http.Request) {
	var body ResignOrder
	var k *candidate
	err := decode(q, &body)
	if err == nil {
		if k, err = a.leaderOf(q, body.Token, resignCommand(q.PathValue("group"))); err == nil {
			err = a.orderWithoutTimeout(w, q, k, newOrder(regent.Cause{Why: why.Resigned, Member: a.name}, ""))
		}
	}
	a.answerOrder(w, q, k, "", err)
}

func (a *Agent) serveTransfer(w http.ResponseWriter, q *http.Request) {
	var body TransferOrder
	var k *candidate
	err := decode(q, &body)
	if err == nil {
		if k, err = a.leaderOf(q, body.Token, transferCommand(q.PathValue("group"), body.To)); err == nil {
			if err = a.checkSuccessor(body.To); err == nil {
				err = a.orderWithoutTimeout(w, q, k, newOrder(regent.Cause{Why: why.Transferred, Member: body.To}, body.To))
			}
		}
	}
	a.answerOrder(w, q, k, body.To, err)
}

// checkSuccessor says why a member cannot be handed anything.
func (a *Agent) checkSuccessor(to string) error {
	if to == "" {
		return failf(http.StatusBadRequest, "to whom? name a member in \"to\"")
	}
	if to == a.name {
		return failf(http.StatusBadRequest, "%s leads already", to)
	}
	for _, m := range a.Members() {
		switch {
		case m.Name != to:
		case !m.Heard:
			return failf(http.StatusConflict, "member %s was not heard yet", to)
		default:
			return nil
		}
	}
	return noMember(to)
}

// noMember reports that a name is not that of a member.
func noMember(name string) error {
	return failf(http.StatusBadRequest, "no member %.64q in the council", name)
}

// orderWithoutTimeout gives an order and waits for its outcome, for as long as its sender does.
func (a *Agent) orderWithoutTimeout(w http.ResponseWriter, q *http.Request, k *candidate, o *order) error {
	withoutDeadline(w)
	return a.order(q.Context(), k, o)
}

// order gives an order and waits for its outcome.
func (a *Agent) order(ctx context.Context, k *candidate, o *order) error {
	if err := awaitSuccessor(ctx, k, o.to); err != nil {
		return conflict(err)
	}
	k.carryOut(o)
	select {
	case err := <-o.outcome:
		return conflict(err)
	case <-k.ended:
		// What became of it is told before. An order that came too late may have been seen by nobody.
		select {
		case err := <-o.outcome:
			return conflict(err)
		default:
			return failf(http.StatusConflict, "group %s: no program here leads it any more", k.group)
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// successorTimeout is how long a successor may be unknown here that has just begun to campaign, and successorPollInterval how often to look.
const (
	successorTimeout      = time.Second
	successorPollInterval = 20 * time.Millisecond
)

// awaitSuccessor says why a group cannot be handed over to a member, if one is named, before its program is asked to stop. After
// that it would be too late.
func awaitSuccessor(ctx context.Context, k *candidate, to string) error {
	l := k.currentLease()
	if to == "" || l == nil {
		return nil
	}
	for limit := time.After(successorTimeout); ; {
		err := l.CanTransfer(ctx, to)
		if err == nil || errors.Is(err, regent.ErrNotLeader) || ctx.Err() != nil {
			return err
		}
		select {
		case <-limit:
			return err
		case <-time.After(successorPollInterval):
		case <-k.ended:
			return regent.ErrNotLeader
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// conflict gives an error of the council's the status that it has over HTTP.
func conflict(err error) error {
	if err == nil {
		return nil
	}
	return &httpError{http.StatusConflict, err}
}

// answerOrder answers an order to a candidate, which was to hand over to a member if one is named.
func (a *Agent) answerOrder(w http.ResponseWriter, q *http.Request, k *candidate, to string, err error) {
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return // nobody waits for an answer
		}
		writeError(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(q.Context(), a.timing.Lease)
	defer cancel()
	writeJSON(w, http.StatusOK, a.leaderAfter(ctx, k.group, k.currentLease().Token(), to))
}

// leaderAfter says who leads a group after a leadership that has ended in favour of a member, or of nobody in particular. The
// change log learns of that a moment later than who gave the order; it waits for that until ctx ends.
func (a *Agent) leaderAfter(ctx context.Context, group string, token uint64, to string) Outcome {
	out := Outcome{Group: group, Leader: to}
	watch, present := a.changes.watch(group, watchDepth)
	defer a.changes.unwatch(watch)
	for {
		for _, c := range present {
			if c.Token > token && c.Leader != "" && (to == "" || c.Leader == to) {
				out.Leader, out.Token = c.Leader, c.Token
				return out
			}
			if to == "" && (c.Leader == "" || c.Token > token) {
				return out
			}
		}
		select {
		case c := <-watch.c:
			present = []*Change{c}
		case <-ctx.Done():
			return out
		}
	}
}

func (a *Agent) serveEdict(w http.ResponseWriter, q *http.Request) {
	var body EdictOrder
	if err := decode(q, &body); err != nil {
		writeError(w, err)
		return
	}
	if body.Token == 0 {
		writeError(w, failf(http.StatusBadRequest, "an edict is given only to whom has the leader's token: send it in \"token\""))
		return
	}
	k, err := a.leaderOf(q, body.Token, "")
	if err != nil {
		writeError(w, err)
		return
	}
	if !k.leadsNow() {
		writeError(w, regent.ErrNotLeader)
		return
	}
	e, err := k.currentLease().Edict()
	if err != nil {
		writeError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, StampInfo{Group: k.group, Token: e.Token(), Stamp: e.String()})
}

// Resign asks the program that leads a group here to stop, and waits until the group was given up.
func (a *Agent) Resign(ctx context.Context, group string) error {
	err := a.permit(clientOf(ctx), mayOperate, group)
	if err == nil {
		err = a.orderTo(ctx, group, a.switchOrder(""))
	}
	a.auditOrder(ctx, "resign", group, "", err)
	return err
}

// Transfer asks the program that leads a group here to stop, and waits until a member leads that was named.
func (a *Agent) Transfer(ctx context.Context, group, to string) error {
	err := a.permit(clientOf(ctx), mayOperate, group)
	if err == nil {
		err = a.checkSuccessor(to)
	}
	if err == nil {
		err = a.orderTo(ctx, group, a.switchOrder(to))
	}
	a.auditOrder(ctx, "transfer", group, to, err)
	return err
}

func (a *Agent) orderTo(ctx context.Context, group string, o *order) error {
	k, err := a.leaderOfGroup(group, 0, switchCommand(group, o.to))
	if err != nil {
		return err
	}
	return a.order(ctx, k, o)
}
