package httpd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/internal/protocol/order"
	"github.com/regentproject/regent/internal/session"
)

// A passedOrder is an order on its way from one agent to another, in JSON. It never names a user of the host that it comes from.
type passedOrder struct {
	// At is the host that is to carry it out.
	At string `json:"at"`
	// Action is the order in the words of the audit log, and Group the group that it is about; empty: all.
	Action string `json:"action"`
	Group  string `json:"group,omitempty"`
	// Token or Certificate names the credentials of the client; without them the member that passes it on answers for it.
	Token       string          `json:"token,omitempty"`
	Certificate string          `json:"certificate,omitempty"`
	Body        json.RawMessage `json:"body"`
}

// A passedAnswer is the answer to it, as over HTTP.
type passedAnswer struct {
	Status int    `json:"status"`
	Error  string `json:"error,omitempty"`
	// Elsewhere is the host that can carry the order out, as far as the one that answers knows.
	Elsewhere string          `json:"elsewhere,omitempty"`
	Body      json.RawMessage `json:"body,omitempty"`
}

// give gives an order here, or passes it on to the host that has to carry it out. That host is returned if it is another one.
func (s *Server) give(ctx context.Context, o *orderRow, group string, body any) (at string, status int, out any, err error) {
	status, out, err = o.do(ctx, group, body)
	var elsewhere *core.Elsewhere
	if !o.passes || !errors.As(err, &elsewhere) {
		return "", status, out, err
	}
	if refused := s.gate.PermitRemote(access.ClientOf(ctx), group); refused != nil {
		return "", 0, nil, api.Errorf(http.StatusForbidden, "%w (%v)", elsewhere, refused)
	}
	at = elsewhere.Host
	answer, err := s.pass(ctx, o, at, group, body)
	switch {
	case errors.Is(err, core.ErrNotCarried):
		return "", 0, nil, api.WithStatus(http.StatusConflict, elsewhere)
	case err != nil:
		return at, 0, nil, withCommand(err, elsewhere)
	case answer.Elsewhere == s.core.About().Name: // it has come here meanwhile
		status, out, err = o.do(ctx, group, body)
		return "", status, out, err
	case answer.Elsewhere != "" && answer.Elsewhere != at: // it has gone on
		at = answer.Elsewhere
		answer, err = s.pass(ctx, o, at, group, body)
	}
	switch {
	case err != nil:
		return at, 0, nil, err
	case answer.Error != "":
		return at, 0, nil, api.Errorf(answer.Status, "host %s: %s", at, answer.Error)
	}
	return at, answer.Status, answer.Body, nil
}

// withCommand adds to an error what to run on the host, if nothing was done.
func withCommand(err error, e *core.Elsewhere) error {
	var known *api.Error
	if errors.As(err, &known) && known.Status != http.StatusGatewayTimeout {
		return api.Errorf(known.Status, "%w (%s)", err, e.Command)
	}
	return err
}

// pass passes an order on to a host and returns its answer.
func (s *Server) pass(ctx context.Context, o *orderRow, at, group string, body any) (*passedAnswer, error) {
	p := passedOrder{At: at, Action: o.Audit, Group: group}
	p.Token, p.Certificate = access.ClientOf(ctx).Credentials()
	text, err := json.Marshal(body)
	if err == nil {
		p.Body = text
		text, err = json.Marshal(p)
	}
	if err != nil || len(text) > order.MaxBody {
		return nil, api.Errorf(http.StatusRequestEntityTooLarge, "an order for another host has at most %d bytes", order.MaxBody)
	}
	text, err = s.core.Send(ctx, at, text)
	if err != nil {
		return nil, err
	}
	var answer passedAnswer
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, api.Errorf(http.StatusGatewayTimeout, "host %s carried the order out, and its answer cannot be read (run the same version on both hosts)", at)
	}
	return &answer, nil
}

// passedTimeout bounds how long an order of another host is waited for: as long as a program may take to stop.
const passedTimeout = time.Hour

// CarryOut carries out an order that the agent of another member has passed on, if the client may give it here, and returns the answer.
func (s *Server) CarryOut(ctx context.Context, from string, text []byte) []byte {
	ctx, cancel := context.WithTimeout(ctx, passedTimeout)
	defer cancel()
	p, err := s.readPassed(text)
	if err == nil && p.Action == reportAction {
		answer, err := s.answerReport(&p)
		return answer.text(err)
	}
	var o *orderRow
	var body any
	if err == nil {
		o, body, err = s.passedRow(&p)
	}
	var c *access.Client
	var status int
	var out any
	if err == nil {
		c = s.gate.OfMember(from, p.Token, p.Certificate)
		err = s.permitPassed(c, &p)
		if err != nil {
			s.gate.Audit.Refusal(c, p.Action, p.Group, err)
		}
	}
	if err == nil {
		ctx = context.WithValue(ctx, access.ClientKey{}, c)
		status, out, err = o.do(ctx, p.Group, body)
		to, _ := o.about(body)
		s.gate.AuditOrder(ctx, access.AuditLine{Action: p.Action, Group: p.Group, To: to}, err)
	}
	answer := passedAnswer{Status: status}
	var elsewhere *core.Elsewhere
	if errors.As(err, &elsewhere) {
		answer.Elsewhere = elsewhere.Host
	}
	if err == nil {
		answer.Body, err = json.Marshal(short(out))
	}
	return answer.text(err)
}

// text is the answer as it travels.
func (a passedAnswer) text(err error) []byte {
	if err != nil {
		a.Status, a.Error = statusOf(err), fmt.Sprintf("%.2000s", err)
	}
	text, _ := json.Marshal(a) // it holds nothing that cannot be marshalled
	return text
}

// readPassed reads an order that was passed on.
func (s *Server) readPassed(text []byte) (p passedOrder, err error) {
	if err := strict(text, &p); err != nil {
		return p, err
	}
	if p.At != s.core.About().Name {
		return p, api.Errorf(http.StatusConflict, "the order is for host %.64q, and this is %s", p.At, s.core.About().Name)
	}
	return p, nil
}

// strict reads JSON in which nothing is that this build does not know.
func strict(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return api.Errorf(http.StatusBadRequest, "the order is not one that this build knows: %w", err)
	}
	return nil
}

// passedRow returns the row of the table that an order that was passed on belongs to, and its body.
func (s *Server) passedRow(p *passedOrder) (o *orderRow, body any, err error) {
	table := s.orders()
	i := slices.IndexFunc(table, func(o orderRow) bool { return o.passes && o.Audit == p.Action })
	if i < 0 {
		return nil, nil, api.Errorf(http.StatusBadRequest, "no order %.40q is taken from other hosts", p.Action)
	}
	o = &table[i]
	if strings.Contains(o.Path, "{group}") {
		if err := session.CheckGroup(p.Group); err != nil {
			return nil, nil, api.WithStatus(http.StatusBadRequest, err)
		}
	} else if p.Group != "" {
		return nil, nil, api.Errorf(http.StatusBadRequest, "%s is about no group", p.Action)
	}
	body = o.body()
	return o, body, strict(p.Body, body)
}

// permitPassed returns an error if the client that another member names may not give the order here.
func (s *Server) permitPassed(c *access.Client, p *passedOrder) error {
	if c.Role < access.Writer {
		return api.Errorf(http.StatusForbidden, "%s has no role write here: list it in http.tokens, or in http.tls.write_names, of %s too", c, s.core.About().Name)
	}
	if err := s.gate.PermitRemote(c, p.Group); err != nil {
		return err
	}
	if p.Group != "" {
		return s.gate.Permit(c, access.MayOperate, p.Group)
	}
	return s.gate.PermitAll(context.WithValue(context.Background(), access.ClientKey{}, c))
}

// maxPassedGroups is how many groups without a leader an answer to another host names: it has to fit a message.
const maxPassedGroups = 40

// short returns a body that fits a message.
func short(out any) any {
	if d, ok := out.(api.Drained); ok && len(d.Leaderless) > maxPassedGroups {
		d.MoreLeaderless = len(d.Leaderless) - maxPassedGroups
		d.Leaderless = d.Leaderless[:maxPassedGroups]
		return d
	}
	return out
}

// Give gives an order that did not come by its own route, such as one of the dashboard's: resign, transfer, drain or undrain. It returns its outcome, and
// writes a line to the audit log.
func (s *Server) Give(ctx context.Context, action, group string, body any) (status int, out any, err error) {
	at, o := "", s.orderOf(action)
	err = s.permitGiven(ctx, &o, group)
	if err == nil {
		at, status, out, err = s.give(ctx, &o, group, body)
	}
	to, _ := o.about(body)
	s.gate.AuditOrder(ctx, access.AuditLine{Action: action, Group: group, To: to, At: at}, err)
	return status, out, err
}

// GiveFor is Give for a request by another route, with a name of its own in the audit log.
func (s *Server) GiveFor(ctx context.Context, w http.ResponseWriter, action, group string, body any) (status int, out any, err error) {
	o := s.orderOf(action)
	at, status, out, err := s.give(ctx, &o, group, body)
	auditAt(w, at)
	return status, out, err
}

// orderOf returns the row of an order.
func (s *Server) orderOf(action string) orderRow {
	table := s.orders()
	return table[slices.IndexFunc(table, func(o orderRow) bool { return o.Audit == action })]
}

// PermitAt says why the sender of a request may not have an order about a group carried out at a host.
func (s *Server) PermitAt(ctx context.Context, host, group string) error {
	if host == s.core.About().Name {
		return nil
	}
	return s.gate.PermitRemote(access.ClientOf(ctx), group)
}

// permitGiven returns an error if the client may not give an order.
func (s *Server) permitGiven(ctx context.Context, o *orderRow, group string) error {
	c := access.ClientOf(ctx)
	if !o.All {
		return s.gate.Permit(c, o.Right, group)
	}
	c.Right = o.Right
	return s.gate.PermitAll(ctx)
}
