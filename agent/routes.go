package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"strings"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/session"
)

// A route is one row of the HTTP interface. The description of it (openapi.go) is made of the same rows.
type route struct {
	method, path string
	// requires is what a client must be allowed to do.
	requires role
	// right is what it must be allowed to do with the group.
	right right
	// all marks answers about all groups that are not made for one client.
	all bool
	// audit, if it is set, is what the audit log calls the order.
	audit string
	// summary is the description: a sentence.
	summary string
	// in is the body of the request, by example; nil if there is none.
	in any
	// out is the body of the answer, by status and example.
	out map[int]any
	// stream marks answers that are server-sent events.
	stream bool
	// query names parameters and what they mean.
	query map[string]string
	serve func(*Agent, http.ResponseWriter, *http.Request)
}

// Refusal is the body of an answer that is not what was asked for.
type Refusal struct {
	Error string `json:"error"`
}

// A httpError is an error with a status.
type httpError struct {
	status int
	error
}

func (e *httpError) Unwrap() error { return e.error }

func failf(status int, format string, args ...any) error {
	return &httpError{status, fmt.Errorf(format, args...)}
}

// routes is the whole interface but for the dashboard.
func routes() []route {
	var all []route
	all = append(all, readRoutes()...)
	all = append(all, writeRoutes()...)
	all = append(all, streamRoutes()...)
	all = append(all, roleRoutes()...)
	for i := range all {
		all[i].addCommonErrors()
	}
	return all
}

// addCommonErrors adds the refusals that many routes have in common.
func (r *route) addCommonErrors() {
	out := maps.Clone(r.out)
	if strings.Contains(r.path, "{group}") {
		out[http.StatusBadRequest] = Refusal{}
	}
	if r.requires > anonymous {
		out[http.StatusUnauthorized], out[http.StatusForbidden] = Refusal{}, Refusal{}
		if out[http.StatusServiceUnavailable] == nil {
			out[http.StatusServiceUnavailable] = Refusal{} // its source has too many requests under way
		}
	}
	r.out = out
}

// handler returns what answers all requests.
func (a *Agent) handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes() {
		path := r.path
		if path == "/" {
			path = "/{$}" // and not all that has no route of its own
		}
		mux.HandleFunc(r.method+" "+path, func(w http.ResponseWriter, q *http.Request) {
			w = a.audited(w, q, &r)
			if err := a.authorizeRoute(q, &r); err != nil {
				writeError(w, err)
				return
			}
			done, err := occupy(q, r.requires)
			if err != nil {
				writeError(w, err)
				return
			}
			defer done()
			if r.method == http.MethodOptions {
				w = withoutBody{w}
			}
			r.serve(a, w, q)
		})
	}
	if a.options.Dashboard != nil {
		ui := http.StripPrefix("/ui", a.options.Dashboard(a))
		mux.HandleFunc("/ui/", func(w http.ResponseWriter, q *http.Request) {
			w = a.audited(w, q, &route{})
			if err := a.authorizeRoute(q, &route{requires: reader, all: true}); err != nil {
				writeError(w, err)
				return
			}
			done, err := occupy(q, reader)
			if err != nil {
				writeError(w, err)
				return
			}
			defer done()
			ui.ServeHTTP(w, q)
		})
	}
	return mux
}

// authorizeRoute says why a request may not be answered; nil if it may. The group is looked at when it is known (groupOf).
func (a *Agent) authorizeRoute(q *http.Request, r *route) error {
	clientOf(q.Context()).right = r.right
	if err := authorize(q, r.requires); err != nil {
		return err
	}
	if r.all {
		return a.permitAll(q)
	}
	return nil
}

// withoutBody leaves the body of an answer out: load balancers that ask with OPTIONS want a status and no more.
type withoutBody struct{ http.ResponseWriter }

func (withoutBody) Write(p []byte) (int, error) { return len(p), nil }

// authorize says why a request may not be answered; nil if it may.
func authorize(q *http.Request, needs role) error {
	who := clientOf(q.Context()).role
	switch {
	case who >= needs && (needs < writer || !crossSite(q)):
		return nil
	case who >= needs:
		return failf(http.StatusForbidden, "a page of another site may not do that")
	case who > anonymous:
		return failf(http.StatusForbidden, "this needs another role: ask with a token of role write, or on the agent's unix socket")
	case hasBearerToken(q):
		return &httpError{http.StatusUnauthorized, errUnknownToken}
	}
	return failf(http.StatusUnauthorized, "who are you? send a bearer token, use a client certificate, or ask on the agent's unix socket")
}

// errUnknownToken says that a bearer token is none of the configuration's.
var errUnknownToken = errors.New("the bearer token is not known here: http.tokens in the configuration says where those are that are")

// writeJSON writes a body as JSON.
func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// writeError writes an error, with the status that it has or that fits it.
func writeError(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	var known *httpError
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		status = known.status
	case errors.As(err, &large):
		status = http.StatusRequestEntityTooLarge
	case errors.Is(err, errJoining), errors.Is(err, errStopping), errors.Is(err, regent.ErrClosed), errors.Is(err, regent.ErrNoLeader):
		status = http.StatusServiceUnavailable
	case errors.Is(err, regent.ErrNotLeader):
		status = http.StatusConflict
	}
	switch {
	case errors.Is(err, errUnknownToken):
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	case status == http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	writeJSON(w, status, Refusal{Error: err.Error()})
}

// decode reads the body of a request strictly. An empty one leaves body as it is.
func decode(q *http.Request, body any) error {
	if kind := q.Header.Get("Content-Type"); kind != "" && q.ContentLength != 0 {
		if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" && media != "application/x-www-form-urlencoded" {
			return failf(http.StatusUnsupportedMediaType, "the body is %s: send application/json", kind)
		}
	}
	d := json.NewDecoder(q.Body)
	d.DisallowUnknownFields()
	err := d.Decode(body)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the object")
		}
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return err
	}
	if err != nil {
		return failf(http.StatusBadRequest, "the body is not what is expected: %w", err)
	}
	return nil
}

// groupOf returns the group that a request is about: that of its path, or the default one.
func (a *Agent) groupOf(q *http.Request) (string, error) {
	if name := q.PathValue("group"); name != "" {
		if err := session.CheckGroup(name); err != nil {
			return "", &httpError{http.StatusBadRequest, err}
		}
		return name, a.permitOwn(q, name)
	}
	if name := a.file.Load().DefaultGroup; name != "" {
		return name, a.permitOwn(q, name)
	}
	return "", failf(http.StatusNotFound, "%w: set default_group, or ask %s", errNoGroup, groupRoute(q.URL.Path))
}

// permitOwn returns an error if the sender of a request may not do with a group what the request is about.
func (a *Agent) permitOwn(q *http.Request, group string) error {
	c := clientOf(q.Context())
	return a.permit(c, c.right, group)
}

// errNoGroup says that a request names no group, and the configuration no default one.
var errNoGroup = errors.New("no default group")

// groupRoute returns where to ask about a group what is asked about the default one.
func groupRoute(path string) string {
	switch path {
	case "/":
		return "/v1/groups/GROUP/primary"
	case "/history": // there that is another question
		return "/v1/groups/GROUP/history, whose answer has another form: {\"changes\":[...]}"
	}
	return "/v1/groups/GROUP" + path
}

// changeOf returns the last change of the group that a request is about, or says that nobody ever heard of it.
func (a *Agent) changeOf(q *http.Request) (*Change, error) {
	name, err := a.groupOf(q)
	if err != nil {
		return nil, err
	}
	if c, _ := a.changes.group(name); c != nil {
		return c, nil
	}
	return nil, a.unknownGroup(name)
}

// unknownGroup says of a group that the member has not heard of whether that means anything.
func (a *Agent) unknownGroup(group string) error {
	if waiting := a.Status().Waiting; waiting != "" {
		return failf(http.StatusServiceUnavailable, "group %.40q: %w is known yet to %s: %s", group, regent.ErrNoLeader, a.name, waiting)
	}
	return failf(http.StatusNotFound, "group %.40q: %w is known: nobody has campaigned for it, as far as %s knows", group, regent.ErrNoLeader, a.name)
}
