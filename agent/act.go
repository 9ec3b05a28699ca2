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
	// Leader is who leads after the order: of a transfer the heir, of a resign whoever is known to lead by now, empty if
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

// orders are the routes that change something.
func orders() []route {
	refused := map[int]any{200: Outcome{}, 400: Refusal{}, 404: Refusal{}, 409: Refusal{}, 413: Refusal{}, 503: Refusal{}}
	return []route{
		{method: "POST", path: "/v1/groups/{group}/resign", needs: writer, in: ResignOrder{}, out: refused,
			says: "Ask the program here that leads to stop, and give the group up once it has.", serve: (*Agent).serveResign},
		{method: "POST", path: "/v1/groups/{group}/transfer", needs: writer, in: TransferOrder{}, out: refused,
			says: "Ask the program here that leads to stop, and hand the group over to another member once it has.", serve: (*Agent).serveTransfer},
		{method: "POST", path: "/v1/groups/{group}/edict", needs: writer, in: EdictOrder{},
			out:  map[int]any{200: StampInfo{}, 400: Refusal{}, 404: Refusal{}, 409: Refusal{}, 413: Refusal{}},
			says: "Stamp an order of the program here that leads.", serve: (*Agent).serveEdict},
	}
}

// commanded returns the candidate that leads the group of a request here, if it has the token. command is what to say where
// it is led instead.
func (a *Agent) commanded(q *http.Request, token uint64, command string) (*candidate, error) {
	group, err := a.groupOf(q)
	if err != nil {
		return nil, err
	}
	return a.commandedIn(group, token, command)
}

// commandedIn does not ask the board first: a program may give orders before the agent has heard of its election like everybody else.
func (a *Agent) commandedIn(group string, token uint64, command string) (*candidate, error) {
	k := a.leader(group)
	if k == nil {
		c, _ := a.board.group(group)
		if c == nil {
			return nil, a.unheardOf(group)
		}
		return nil, a.notHere(c, command)
	}
	if l := k.current(); token != 0 && l.Token() != token {
		return nil, failf(http.StatusConflict, "group %s: token %d is not that of its leader, %d", group, token, l.Token())
	}
	return k, nil
}

// notHere says why no program here can be given an order about a group, and where to give it.
func (a *Agent) notHere(c *Change, command string) error {
	switch {
	case c.Mode != modeQuorum:
		return failf(http.StatusConflict, "group %s is %s: hosts lead it by themselves, and there is nothing to resign, to hand over or to stamp", c.Group, c.Mode)
	case c.Leader == "":
		return failf(http.StatusConflict, "group %s: nobody leads it, as far as %s knows", c.Group, a.name)
	case c.Leader == a.name:
		return failf(http.StatusConflict, "group %s: no program here leads it any more", c.Group)
	}
	return failf(http.StatusConflict, "group %s: %s leads it, so only its agent can do that: %s", c.Group, c.Leader, a.there(c.Leader, command))
}

// there says how to give an order at another member.
func (a *Agent) there(member, command string) string {
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
func sayResign(group string) string       { return "regent resign " + group }
func sayTransfer(group, to string) string { return "regent transfer " + group + " " + orMember(to) }

// saySwitch is either of the two: without a member it is given up to whoever is elected.
func saySwitch(group, to string) string {
	if to == "" {
		return sayResign(group)
	}
	return sayTransfer(group, to)
}

// orMember stands for a member if none is named.
func orMember(to string) string {
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
		if k, err = a.commanded(q, body.Token, sayResign(q.PathValue("group"))); err == nil {
			err = a.command(w, q, k, newOrder(regent.Cause{Why: why.Resigned, Member: a.name}, ""))
		}
	}
	a.outcome(w, q, k, "", err)
}

func (a *Agent) serveTransfer(w http.ResponseWriter, q *http.Request) {
	var body TransferOrder
	var k *candidate
	err := decode(q, &body)
	if err == nil {
		if k, err = a.commanded(q, body.Token, sayTransfer(q.PathValue("group"), body.To)); err == nil {
			if err = a.heir(body.To); err == nil {
				err = a.command(w, q, k, newOrder(regent.Cause{Why: why.Transferred, Member: body.To}, body.To))
			}
		}
	}
	a.outcome(w, q, k, body.To, err)
}

// heir says why a member cannot be handed anything.
func (a *Agent) heir(to string) error {
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
	return failf(http.StatusBadRequest, "no member %q in the council", to)
}

// command gives an order and waits for its outcome, for as long as its sender does.
func (a *Agent) command(w http.ResponseWriter, q *http.Request, k *candidate, o *order) error {
	patient(w)
	return a.order(q.Context(), k, o)
}

// order gives an order and waits for its outcome.
func (a *Agent) order(ctx context.Context, k *candidate, o *order) error {
	if err := awaitHeir(ctx, k, o.to); err != nil {
		return conflict(err)
	}
	select {
	case k.asked <- o:
	case <-k.ended:
		return failf(http.StatusConflict, "group %s: no program here leads it any more", k.group)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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

// heirLimit is how long a successor may be unknown here that has just begun to campaign, and heirPoll how often to look.
const (
	heirLimit = time.Second
	heirPoll  = 20 * time.Millisecond
)

// awaitHeir says why a group cannot be handed over to a member, if one is named, before its program is asked to stop. After
// that it would be too late.
func awaitHeir(ctx context.Context, k *candidate, to string) error {
	l := k.current()
	if to == "" || l == nil {
		return nil
	}
	for limit := time.After(heirLimit); ; {
		err := l.CanTransfer(ctx, to)
		if err == nil || errors.Is(err, regent.ErrNotLeader) || ctx.Err() != nil {
			return err
		}
		select {
		case <-limit:
			return err
		case <-time.After(heirPoll):
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

// outcome answers an order to a candidate, which was to hand over to a member if one is named.
func (a *Agent) outcome(w http.ResponseWriter, q *http.Request, k *candidate, to string, err error) {
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return // nobody waits for an answer
		}
		refuse(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(q.Context(), a.timing.Lease)
	defer cancel()
	answer(w, 200, a.after(ctx, k.group, k.current().Token(), to))
}

// after says who leads a group after a leadership that has ended in favour of a member, or of nobody in particular. The
// board learns of that a moment later than who gave the order; it waits for the board until ctx ends.
func (a *Agent) after(ctx context.Context, group string, token uint64, to string) Outcome {
	out := Outcome{Group: group, Leader: to}
	watch, present := a.board.watch(group, watchDepth)
	defer a.board.unwatch(watch)
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
		refuse(w, err)
		return
	}
	if body.Token == 0 {
		refuse(w, failf(http.StatusBadRequest, "an edict is given only to whom has the leader's token: send it in \"token\""))
		return
	}
	k, err := a.commanded(q, body.Token, "")
	if err != nil {
		refuse(w, err)
		return
	}
	if !k.leadsNow() {
		refuse(w, regent.ErrNotLeader)
		return
	}
	e, err := k.current().Edict()
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, 200, StampInfo{Group: k.group, Token: e.Token(), Stamp: e.String()})
}

// Resign asks the program that leads a group here to stop, and waits until the group was given up.
func (a *Agent) Resign(ctx context.Context, group string) error {
	return a.orderTo(ctx, group, a.switchOrder(""))
}

// Transfer asks the program that leads a group here to stop, and waits until a member leads that was named.
func (a *Agent) Transfer(ctx context.Context, group, to string) error {
	if err := a.heir(to); err != nil {
		return err
	}
	return a.orderTo(ctx, group, a.switchOrder(to))
}

func (a *Agent) orderTo(ctx context.Context, group string, o *order) error {
	k, err := a.commandedIn(group, 0, saySwitch(group, o.to))
	if err != nil {
		return err
	}
	return a.order(ctx, k, o)
}
