package agent

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/regentproject/regent/agent/config"
)

// A role is what a client may do.
type role int

const (
	anonymous role = iota
	reader
	writer
)

func roleOf(name string) role {
	switch name {
	case "read":
		return reader
	case "write":
		return writer
	}
	return anonymous
}

// access says who may do what over TCP.
type access struct {
	tokens     []bearer
	anonymous  role
	writeNames []string
	tls        *tls.Config // nil without TLS
	// rules say what clients may do with single groups.
	rules []rule
}

type bearer struct {
	digest [sha256.Size]byte
	name   string
	role   role
}

func newAccess(file *config.File) (*access, error) {
	h := &file.HTTP
	a := &access{anonymous: roleOf(h.Anonymous), writeNames: h.TLS.WriteNames}
	for i := range h.Tokens {
		sum, err := h.Tokens[i].Digest()
		if err != nil {
			return nil, fmt.Errorf("http.tokens: %w", err)
		}
		a.tokens = append(a.tokens, bearer{digest: sum, name: h.Tokens[i].Name, role: roleOf(h.Tokens[i].Role)})
	}
	rules, err := newRules(file)
	if err != nil {
		return nil, err
	}
	a.rules = rules
	if h.TLS.Cert != "" && h.Listen != "" {
		a.tls, err = loadTLS(file)
		if err != nil {
			return nil, err
		}
	}
	return a, nil
}

// identify returns who sent a request over TCP.
func (a *access) identify(r *http.Request) *client {
	c := &client{from: r.RemoteAddr}
	if hasBearerToken(r) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), bearerScheme)
		sum := sha256.Sum256([]byte(token))
		for i := range a.tokens {
			if subtle.ConstantTimeCompare(sum[:], a.tokens[i].digest[:]) == 1 {
				c.role, c.token = max(c.role, a.tokens[i].role), a.tokens[i].name
			}
		}
		return c // a wrong token is never better than none
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		c.role, c.cert = reader, r.TLS.PeerCertificates[0].Subject.CommonName
		if slices.Contains(a.writeNames, c.cert) {
			c.role = writer
		}
	}
	// Without credentials, a page of another site could make a browser ask in its owner's name, under a host name of its
	// own that stands for this host. Such a request names that host.
	if a.anonymous > c.role && isLoopbackName(r.Host) {
		c.role = a.anonymous
	}
	return c
}

// bearerScheme is how an Authorization header begins that has a token.
const bearerScheme = "Bearer "

// hasBearerToken says whether a request has a bearer token.
func hasBearerToken(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Authorization"), bearerScheme)
}

// isLoopbackName says whether a Host header names this host in a way that no stranger can register.
func isLoopbackName(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || host == "localhost"
}

// authenticate finds out what the sender of a request may do, and bounds what it may send.
func (a *Agent) authenticate(trusted bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var who client
		if trusted {
			who = *clientOf(r.Context()) // as it was when it connected
		} else {
			who = *a.access.Load().identify(r)
		}
		r.Body = http.MaxBytesReader(w, r.Body, int64(a.file.Load().Limits.Body))
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), clientKey{}, &who)))
	})
}

// MayWrite says whether the sender of a request that came through the agent's listeners may change anything. The rights of single groups
// are looked at when it does.
func MayWrite(r *http.Request) bool { return clientOf(r.Context()).role >= writer }

// crossSite says whether a browser sent the request on behalf of a page of another site.
func crossSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	if site != "" {
		return site != "same-origin" && site != "none"
	}
	origin := r.Header.Get("Origin")
	return origin != "" && !strings.HasSuffix(origin, "://"+r.Host)
}
