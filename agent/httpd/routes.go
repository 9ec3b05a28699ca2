package httpd

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/internal/session"
)

// A Route is one row of the HTTP interface. The description of it (openapi.go) is made of the same rows.
type Route struct {
	Method, Path string
	// Requires is what a client must be allowed to do.
	Requires access.Role
	// Right is what it must be allowed to do with the group.
	Right access.Right
	// All marks answers about all groups that are not made for one client, and orders that concern all groups.
	All bool
	// Audit, if it is set, is what the audit log calls the order.
	Audit string
	// Summary is the description: a sentence.
	Summary string
	// In is the body of the request, by example; nil if there is none.
	In any
	// Out is the body of the answer, by status and example.
	Out map[int]any
	// Stream marks answers that are server-sent events.
	Stream bool
	// Query names parameters and what they mean.
	Query map[string]string
	Serve http.HandlerFunc
}

// An Server answers requests over HTTP.
type Server struct {
	core Agent
	gate *access.Gate
	// Dashboard serves the pages for people; nil: there are none.
	Dashboard http.Handler
	// Reread puts the keys in the files of this host in force.
	Reread func() error
	// Admission bounds connections over TCP; nil if there are none.
	Admission       atomic.Pointer[Admission]
	streamCampaigns streamCampaigns
}

func New(a Agent, g *access.Gate) *Server {
	return &Server{core: a, gate: g, streamCampaigns: streamCampaigns{all: make(map[string]*core.Candidate)}}
}

// Connections returns how many connections over TCP found no room, and how many made room; false: there is no listener for them.
func (s *Server) Connections() (refused, evicted uint64, ok bool) {
	b := s.Admission.Load()
	if b == nil {
		return 0, 0, false
	}
	return b.refused.Load(), b.evicted.Load(), true
}

// Routes are those of the interface, without the dashboard and what other rooms add.
func (s *Server) Routes() []Route {
	var all []Route
	all = append(all, s.readRoutes()...)
	all = append(all, s.writeRoutes()...)
	all = append(all, s.streamRoutes()...)
	all = append(all, s.roleRoutes()...)
	return all
}

// Outcomes returns the bodies of answers by status, with the refusals that many routes have in common.
func (r *Route) Outcomes() map[int]any {
	out := maps.Clone(r.Out)
	if strings.Contains(r.Path, "{group}") {
		out[http.StatusBadRequest] = api.Refusal{}
	}
	if r.Requires > access.Anonymous {
		out[http.StatusUnauthorized], out[http.StatusForbidden], out[http.StatusTooManyRequests] = api.Refusal{}, api.Refusal{}, api.Refusal{}
		if out[http.StatusServiceUnavailable] == nil {
			out[http.StatusServiceUnavailable] = api.Refusal{} // its source has too many requests under way
		}
	}
	return out
}

// Handler returns what answers all requests by the routes, with the page for people.
func (a *Server) Handler(routes []Route) http.Handler {
	mux := a.routed(routes)
	if a.Dashboard != nil {
		mux.Handle(pagePath, a.dashboardHandler())
	}
	return mux
}

// routed returns what answers requests by the routes.
func (a *Server) routed(routes []Route) *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range routes {
		path := r.Path
		if path == "/" {
			path = "/{$}" // and not all that has no route of its own
		}
		mux.HandleFunc(r.Method+" "+path, func(w http.ResponseWriter, q *http.Request) {
			audit := a.audited(w, q, &r)
			defer audit.end()
			w = audit
			if err := a.authorizeRoute(q, &r); err != nil {
				WriteError(w, err)
				return
			}
			done, err := occupy(q, r.Requires)
			if err != nil {
				WriteError(w, err)
				return
			}
			defer done()
			if r.Method == http.MethodOptions {
				w = withoutBody{w}
			}
			r.Serve(w, q)
		})
	}
	return mux
}

// Probes returns what answers load balancers on a listener without TLS: the role endpoints, which need no credentials, and nothing else.
// Credentials do not count there, because they were readable on the way.
func (a *Server) Probes() http.Handler {
	var routes []Route
	for _, r := range a.roleRoutes() {
		if r.Requires == access.Anonymous && r.Path != "/" { // that is also the page for people
			routes = append(routes, r)
		}
	}
	return a.identified(access.Stranger, a.routed(routes))
}

// authorizeRoute says why a request may not be answered; nil if it may. The group is looked at when it is known (groupOf).
func (a *Server) authorizeRoute(q *http.Request, r *Route) error {
	access.ClientOf(q.Context()).Right = r.Right
	if err := authorize(q, r.Requires); err != nil {
		return err
	}
	if r.All {
		return a.gate.PermitAll(q.Context())
	}
	return nil
}

// withoutBody leaves the body of an answer out: load balancers that ask with OPTIONS want a status and no more.
type withoutBody struct{ http.ResponseWriter }

func (withoutBody) Write(p []byte) (int, error) { return len(p), nil }

// authorize says why a request may not be answered; nil if it may.
func authorize(q *http.Request, needs access.Role) error {
	who := access.ClientOf(q.Context()).Role
	switch {
	case who >= needs && (needs < access.Writer || !crossSite(q)):
		return nil
	case who >= needs:
		return errCrossSite
	case who > access.Anonymous:
		return api.Errorf(http.StatusForbidden, "this needs the role write (use a token or a certificate of that role, or the agent's unix socket)")
	case access.ClientOf(q.Context()).Wait > 0:
		return refuseAttempts(access.ClientOf(q.Context()).Wait)
	case access.HasBearerToken(q):
		return api.WithStatus(http.StatusUnauthorized, errUnknownToken)
	}
	return api.Errorf(http.StatusUnauthorized, "authentication required (send a bearer token, use a client certificate, or ask on the agent's unix socket)")
}

// refuseAttempts returns the error for a source that has guessed tokens too often.
func refuseAttempts(wait time.Duration) error {
	return api.WithStatus(http.StatusTooManyRequests, &access.TooManyGuesses{Wait: wait})
}

// errCrossSite refuses what a page of another site sent.
var errCrossSite = &api.Error{Status: http.StatusForbidden, Err: errors.New("a page of another site may not do that")}

// errUnknownToken says that a bearer token is none of the configuration's.
var errUnknownToken = errors.New("unknown bearer token (http.tokens in the configuration lists the valid ones)")

// WriteJSON writes a body as JSON.
func WriteJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// statusOf returns the status that an error has or that fits it.
func statusOf(err error) int {
	var known *api.Error
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		return known.Status
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, core.ErrJoining), errors.Is(err, core.ErrStopping), errors.Is(err, regent.ErrClosed), errors.Is(err, regent.ErrNoLeader):
		return http.StatusServiceUnavailable
	case errors.Is(err, regent.ErrNotLeader), errors.Is(err, engine.ErrUnsupported):
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

// WriteError writes an error, with the status that it has or that fits it.
func WriteError(w http.ResponseWriter, err error) {
	status := statusOf(err)
	var late *access.TooManyGuesses
	switch {
	case errors.As(err, &late):
		w.Header().Set("Retry-After", Itoa(uint64(math.Ceil(late.Wait.Seconds()))))
	case errors.Is(err, errUnknownToken):
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	case status == http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	WriteJSON(w, status, api.Refusal{Error: err.Error()})
}

// Decode reads the body of a request strictly. An empty one leaves body as it is.
func Decode(q *http.Request, body any) error {
	if kind := q.Header.Get("Content-Type"); kind != "" && q.ContentLength != 0 {
		if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" && media != "application/x-www-form-urlencoded" {
			return api.Errorf(http.StatusUnsupportedMediaType, "the body is %s: send application/json", kind)
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
		return api.Errorf(http.StatusBadRequest, "the body is not what is expected: %w", err)
	}
	return nil
}

// GroupOf returns the group that a request is about: that of its path, or the default one.
func (a *Server) GroupOf(q *http.Request) (string, error) {
	if name := q.PathValue("group"); name != "" {
		if err := session.CheckGroup(name); err != nil {
			return "", api.WithStatus(http.StatusBadRequest, err)
		}
		return name, a.permitOwn(q, name)
	}
	if name := a.core.Config().DefaultGroup; name != "" {
		return name, a.permitOwn(q, name)
	}
	return "", api.Errorf(http.StatusNotFound, "%w: set default_group, or ask %s", ErrNoGroup, groupRoute(q.URL.Path))
}

// permitOwn returns an error if the sender of a request may not do with a group what the request is about.
func (a *Server) permitOwn(q *http.Request, group string) error {
	c := access.ClientOf(q.Context())
	return a.gate.Permit(c, c.Right, group)
}

// ErrNoGroup says that a request names no group, and the configuration no default one.
var ErrNoGroup = errors.New("no default group")

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

// ChangeOf returns the last change of the group that a request is about, or says that nobody ever heard of it.
func (a *Server) ChangeOf(q *http.Request) (*api.Change, error) {
	name, err := a.GroupOf(q)
	if err != nil {
		return nil, err
	}
	if c, _ := a.core.Known().Group(name); c != nil {
		return c, nil
	}
	return nil, a.core.UnknownGroup(name)
}
