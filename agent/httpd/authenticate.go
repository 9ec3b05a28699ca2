package httpd

import (
	"context"
	"net/http"
	"strings"

	"github.com/regentproject/regent/agent/access"
)

// Authenticate finds out what the sender of a request may do, and bounds what it may send.
func (a *Server) Authenticate(trusted bool, next http.Handler) http.Handler {
	return a.identified(func(r *http.Request) *access.Client {
		switch {
		case trusted:
			return access.ClientOf(r.Context()) // as it was when it connected
		case strings.HasPrefix(r.URL.Path, pagePath):
			return a.gate.IdentifyPage(r)
		}
		return a.gate.Identify(r)
	}, next)
}

// identified bounds what the sender of a request may send, and notes who it is.
func (a *Server) identified(identify func(*http.Request) *access.Client, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := *identify(r)
		r.Body = http.MaxBytesReader(w, r.Body, int64(a.core.Config().Limits.Body))
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), access.ClientKey{}, &who)))
	})
}

// crossSite says whether a browser sent the request on behalf of a page of another site.
func crossSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	if site != "" {
		return site != "same-origin" && site != "none"
	}
	origin := r.Header.Get("Origin")
	return origin != "" && !strings.HasSuffix(origin, "://"+r.Host)
}
