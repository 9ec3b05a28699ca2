package httpd

import (
	"errors"
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
}

// audited returns a writer that has refusals and orders written to the audit log.
func (a *Server) audited(w http.ResponseWriter, q *http.Request, r *Route) http.ResponseWriter {
	return &auditWriter{ResponseWriter: w, agent: a, query: q, route: r}
}

// Unwrap lets deadlines be set.
func (w *auditWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader takes note of the status.
func (w *auditWriter) WriteHeader(status int) {
	w.once.Do(func() { w.note(status) })
	w.ResponseWriter.WriteHeader(status)
}

func (w *auditWriter) note(status int) {
	c, q := access.ClientOf(w.query.Context()), w.query
	action, group := w.route.Audit, q.PathValue("group")
	if group == "" && action != "" && !w.route.All && !strings.Contains(w.route.Path, "{id}") {
		group = w.agent.core.Config().DefaultGroup
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		w.agent.gate.Audit.Refusal(c, q.Method+" "+q.URL.Path, group, errors.New(http.StatusText(status)))
	case action == "":
	case status < http.StatusBadRequest:
		w.agent.gate.Audit.Order(c, action, group, "", "done", http.StatusText(status))
	default:
		w.agent.gate.Audit.Order(c, action, group, "", "failed", http.StatusText(status))
	}
}
