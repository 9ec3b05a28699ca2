package httpd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
)

// pagePath is where the dashboard is. Logins count there and nowhere else.
const pagePath = "/ui/"

// errRebound refuses pages under a name that a stranger may have made to point here.
var errRebound = errors.New("this page is served under names of this host only: open it as 127.0.0.1 or localhost, or use TLS")

// dashboardHandler serves the page. Everybody may load it, because it holds nothing; what it shows and does asks for a role.
func (a *Server) dashboardHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ui/api/session", a.servePageSession)
	mux.HandleFunc("POST /ui/api/login", a.serveLogin)
	mux.HandleFunc("POST /ui/api/logout", a.serveLogout)
	mux.Handle(pagePath+"api/", a.pageSource(http.StripPrefix("/ui", a.Dashboard)))
	mux.HandleFunc(pagePath, func(w http.ResponseWriter, q *http.Request) {
		if strings.HasPrefix(q.URL.Path, pagePath+"api") || q.Method != http.MethodGet && q.Method != http.MethodHead { // however the path is encoded
			http.NotFound(w, q)
			return
		}
		http.StripPrefix("/ui", a.Dashboard).ServeHTTP(w, q)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w = a.audited(w, q, &Route{})
		if !access.IsOurName(q) {
			WriteError(w, api.WithStatus(http.StatusMisdirectedRequest, errRebound))
			return
		}
		mux.ServeHTTP(w, q)
	})
}

// pageSource lets readers see what the page shows, and takes orders that come from the page. Streams end with the login.
func (a *Server) pageSource(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		err := a.authorizeRoute(q, &Route{Requires: access.Reader, All: true})
		if err == nil && q.Method != http.MethodGet && q.Method != http.MethodHead && !a.gate.FromPage(q) {
			err = api.Errorf(http.StatusForbidden, "the order does not name the key of its page (reload the page, or log in again)")
		}
		if err != nil {
			WriteError(w, err)
			return
		}
		done, err := occupy(q, access.Reader)
		if err != nil {
			WriteError(w, err)
			return
		}
		defer done()
		if l := access.ClientOf(q.Context()).LoginOf(); l != nil && q.Method == http.MethodGet {
			ctx, cancel := context.WithCancel(q.Context())
			defer cancel()
			defer context.AfterFunc(l.Context(), cancel)()
			q = q.WithContext(ctx)
		}
		next.ServeHTTP(w, q)
	})
}

// servePageSession tells a page who looks at it, and of the group that it names whether the client may operate it.
func (a *Server) servePageSession(w http.ResponseWriter, q *http.Request) {
	WriteJSON(w, http.StatusOK, a.pageSession(q, access.ClientOf(q.Context())))
}

func (a *Server) pageSession(q *http.Request, c *access.Client) *api.PageSession {
	s := &api.PageSession{Who: c.String(), LoggedIn: c.LoginOf() != nil, CanLogIn: a.gate.HasTokens() && access.MayLogIn(q), Key: a.gate.PageKey(c)}
	c.Right = 0
	readable := a.gate.PermitAll(context.WithValue(q.Context(), access.ClientKey{}, c))
	s.MayLook = c.Role >= access.Reader && readable == nil
	s.MayOrder = s.MayLook && c.Role >= access.Writer
	switch {
	case c.Role == access.Anonymous && a.gate.HasTokens() && !s.CanLogIn:
		s.Reason = "You are not logged in, and cannot log in here: open the page with TLS, or on the agent's host as 127.0.0.1 or localhost."
	case c.Role == access.Anonymous && !s.CanLogIn:
		s.Reason = "You are not known here, and the agent has no tokens to log in with: set http.tokens in its configuration."
	case c.Role == access.Anonymous:
		s.Reason = "You are not logged in."
	case readable != nil:
		s.Reason = fmt.Sprintf("%s: %v.", c, readable)
	case c.Role < access.Writer && c.String() != "anonymous":
		s.Reason = fmt.Sprintf("%s has the role read: orders need the role write.", c)
	case c.Role < access.Writer && s.CanLogIn:
		s.Reason = "You are not logged in: you may look, and orders need a token of role write."
	case c.Role < access.Writer:
		s.Reason = "You are not known here: you may look, and orders need a token or a certificate of role write."
	}
	if !s.MayOrder {
		return s
	}
	all := *c
	all.Right = access.MayOperate
	s.AllReason = reason(a.gate.PermitAll(context.WithValue(q.Context(), access.ClientKey{}, &all)))
	s.RemoteReason = reason(a.gate.PermitRemote(c, ""))
	if group := q.URL.Query().Get("group"); group != "" {
		s.GroupReason, s.GroupRemoteReason = reason(a.gate.Permit(c, access.MayOperate, group)), reason(a.gate.PermitRemote(c, group))
	}
	return s
}

// reason is an error in words; empty if there is none.
func reason(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// serveLogin opens a login for the bearer of a token.
func (a *Server) serveLogin(w http.ResponseWriter, q *http.Request) {
	var body api.LoginOrder
	err := a.checkLogin(q, &body)
	if err != nil {
		WriteError(w, err)
		return
	}
	cookie, key, who, wait := a.gate.LogIn(q, body.Token)
	switch {
	case wait > 0:
		WriteError(w, refuseAttempts(wait))
		return
	case who == nil:
		WriteError(w, api.WithStatus(http.StatusUnauthorized, errUnknownToken))
		return
	}
	a.gate.Audit.Order(who, access.AuditLine{Action: "login", Outcome: "done"})
	http.SetCookie(w, cookie)
	s := a.pageSession(q, who)
	s.Key = key
	WriteJSON(w, http.StatusOK, s)
}

// checkLogin reads the body of a login, and refuses requests of other sites and on ways that others can read.
func (a *Server) checkLogin(q *http.Request, body *api.LoginOrder) error {
	switch {
	case crossSite(q):
		return errCrossSite
	case !access.MayLogIn(q):
		return api.Errorf(http.StatusForbidden, "a token may be sent by TLS, or on this host as 127.0.0.1 or localhost, and not by this way")
	case !strings.HasPrefix(q.Header.Get("Content-Type"), "application/json"):
		return api.Errorf(http.StatusUnsupportedMediaType, "send application/json")
	}
	if err := Decode(q, body); err != nil {
		return err
	}
	if body.Token == "" {
		return api.Errorf(http.StatusBadRequest, "the token is empty")
	}
	return nil
}

func (a *Server) serveLogout(w http.ResponseWriter, q *http.Request) {
	if crossSite(q) {
		WriteError(w, errCrossSite)
		return
	}
	if c := access.ClientOf(q.Context()); c.LoginOf() != nil {
		a.gate.Audit.Order(c, access.AuditLine{Action: "logout", Outcome: "done"})
	}
	http.SetCookie(w, a.gate.LogOut(q))
	w.WriteHeader(http.StatusNoContent)
}
