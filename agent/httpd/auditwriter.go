package httpd

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/regentproject/regent/agent/access"
)

// auditWriter writes what became of a request to the audit log, when its status is known.
type auditWriter struct {
	http.ResponseWriter
	agent *Server
	query *http.Request
	route *Route
	once  sync.Once
	// to is the member that the order names, what says more of it, and at is the other host that was to carry it out.
	to, what, at string
}

// audited returns a writer that has refusals and orders written to the audit log.
func (a *Server) audited(w http.ResponseWriter, q *http.Request, r *Route) *auditWriter {
	return &auditWriter{ResponseWriter: w, agent: a, query: q, route: r}
}

// Unwrap lets deadlines be set.
func (w *auditWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader takes note of the status.
func (w *auditWriter) WriteHeader(status int) {
	w.once.Do(func() { w.note(status) })
	w.ResponseWriter.WriteHeader(status)
}

// end takes note of an order that has no answer: it was given, and its sender has gone.
func (w *auditWriter) end() {
	w.once.Do(func() {
		if w.route.Audit != "" {
			w.order("asked", "its sender did not wait for the outcome")
		}
	})
}

// AuditOrder has the line of an order name the member that a group is to be handed over to, and say more of the order.
func AuditOrder(w http.ResponseWriter, to, what string) {
	if x := auditOf(w); x != nil {
		x.to, x.what = fmt.Sprintf("%.64s", to), fmt.Sprintf("%.500s", what) // nobody has looked at them yet
	}
}

// auditAt has the line of an order name the other host that was to carry it out.
func auditAt(w http.ResponseWriter, at string) {
	if x := auditOf(w); x != nil {
		x.at = at
	}
}

func auditOf(w http.ResponseWriter) *auditWriter {
	for {
		switch x := w.(type) {
		case *auditWriter:
			return x
		case interface{ Unwrap() http.ResponseWriter }:
			w = x.Unwrap()
		default:
			return nil
		}
	}
}

// group returns the group that the order is about; empty if it is about none, or all.
func (w *auditWriter) group() string {
	group := w.query.PathValue("group")
	if group == "" && w.route.Audit != "" && !w.route.All && !strings.Contains(w.route.Path, "{id}") {
		group = w.agent.core.Config().DefaultGroup
	}
	return group
}

func (w *auditWriter) order(outcome, detail string) {
	if w.what != "" {
		detail = w.what + ": " + detail
	}
	w.agent.gate.Audit.Order(access.ClientOf(w.query.Context()), access.AuditLine{Action: w.route.Audit, Group: w.group(), To: w.to, At: w.at, Outcome: outcome, Detail: detail})
}

func (w *auditWriter) note(status int) {
	q := w.query
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusTooManyRequests:
		w.agent.gate.Audit.Refusal(access.ClientOf(q.Context()), q.Method+" "+q.URL.Path, w.group(), errors.New(http.StatusText(status)))
	case w.route.Audit == "":
	case status == http.StatusGatewayTimeout:
		w.order("unknown", "the host received the order and did not answer")
	case status < http.StatusBadRequest:
		w.order("done", http.StatusText(status))
	default:
		w.order("failed", http.StatusText(status))
	}
}
