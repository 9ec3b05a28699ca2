package access

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

const (
	// LoginLasts is how long a login lasts.
	LoginLasts = 12 * time.Hour
	// maxLogins is how many logins one token may have at once. Its oldest makes room for another.
	maxLogins = 16
)

// A Login is what a person who gave a bearer token on the dashboard may do in its place, from one browser.
type Login struct {
	// token is the bearer whose place the login takes. What that may do is looked up at each request.
	token bearer
	// host is the Host header under which the person logged in. Invariant: the login counts under no other.
	host string
	// csrf is what orders must name beside the cookie. Only the answer to the login has it: a service on another port of the same host
	// gets the cookie from browsers, and not this.
	csrf  string
	began time.Time
	// ctx ends with the login.
	ctx context.Context
	end context.CancelFunc
}

// Context ends with the login.
func (l *Login) Context() context.Context { return l.ctx }

// logins are those of all browsers, by the digest of their cookies.
type logins struct {
	// key makes what pages of clients without a login must name in orders.
	key [sha256.Size]byte

	mu   sync.Mutex
	live map[[sha256.Size]byte]*Login
}

func newLogins() *logins {
	l := &logins{live: make(map[[sha256.Size]byte]*Login)}
	rand.Read(l.key[:])
	return l
}

// LogIn opens a login for the bearer of a token. It returns no login if the token is unknown, or if the source must wait because it has guessed too often.
func (a *Gate) LogIn(r *http.Request, token string) (cookie *http.Cookie, csrf string, who *Client, wait time.Duration) {
	wait = a.guess(r, func() bool {
		cookie, csrf, who = a.logIn(r, token)
		return who != nil
	})
	return cookie, csrf, who, wait
}

func (a *Gate) logIn(r *http.Request, token string) (cookie *http.Cookie, csrf string, who *Client) {
	sum := sha256.Sum256([]byte(token))
	b := a.Access.Load().bearerOf(sum)
	if b == nil || !MayLogIn(r) {
		return nil, "", nil
	}
	id := rand.Text() + rand.Text()
	l := &Login{token: *b, host: r.Host, csrf: rand.Text(), began: time.Now()}
	l.ctx, l.end = context.WithTimeout(context.Background(), LoginLasts)
	a.logins.put(sha256.Sum256([]byte(id)), l)
	if now := a.Access.Load().bearerOf(sum); now == nil || *now != l.token { // a reload changed it meanwhile
		l.end()
	}
	cookie = newCookie(r)
	cookie.Value, cookie.MaxAge = id, int(LoginLasts/time.Second)
	return cookie, l.csrf, &Client{Role: b.role, token: b.name, from: r.RemoteAddr, login: l}
}

// LogOut ends the login of a request, and returns the cookie that clears the browser's.
func (a *Gate) LogOut(r *http.Request) *http.Cookie {
	if l := a.logins.of(r); l != nil {
		l.end()
	}
	cookie := newCookie(r)
	cookie.MaxAge = -1
	return cookie
}

// newCookie returns the cookie of a login, without a value. Its name has the port, because browsers send it to all ports of the host.
func newCookie(r *http.Request) *http.Cookie {
	name := "regent-" + portOf(r.Host)
	if r.TLS != nil {
		name = "__Secure-" + name
	}
	return &http.Cookie{Name: name, Path: "/ui/", HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode}
}

// portOf returns the port of a Host header, as it stands there; empty if there is none.
func portOf(host string) string {
	_, port, err := net.SplitHostPort(host)
	for _, c := range port {
		if c < '0' || c > '9' {
			return ""
		}
	}
	if err != nil {
		return ""
	}
	return port
}

// MayLogIn returns whether a request came by a way on which a login is safe: by TLS, or in plain HTTP from this host, under its own name.
func MayLogIn(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && isLoopbackAddr(at.String()) && isLoopbackAddr(r.RemoteAddr) && isLoopbackName(r.Host)
}

func isLoopbackAddr(addr string) bool {
	ap, err := netip.ParseAddrPort(addr)
	return err == nil && ap.Addr().Unmap().IsLoopback()
}

// put adds a login.
func (s *logins) put(id [sha256.Size]byte, l *Login) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var oldest *Login
	count := 0
	// order does not matter: it is a minimum
	for id, other := range s.live {
		if other.ctx.Err() != nil {
			delete(s.live, id)
		} else if other.token == l.token {
			count++
			if oldest == nil || other.began.Before(oldest.began) {
				oldest = other
			}
		}
	}
	if count >= maxLogins {
		oldest.end()
	}
	s.live[id] = l
}

// of returns the login of a request; nil if it has none.
func (s *logins) of(r *http.Request) *Login {
	cookie, err := r.Cookie(newCookie(r).Name)
	if err != nil || !MayLogIn(r) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.live[sha256.Sum256([]byte(cookie.Value))]
	if l == nil || l.ctx.Err() != nil || l.host != r.Host {
		return nil
	}
	return l
}

// keep ends the logins of tokens that the rules do not have.
func (s *logins) keep(rules *Rules) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, l := range s.live {
		if b := rules.bearerOf(l.token.digest); b == nil || *b != l.token {
			l.end()
			delete(s.live, id)
		}
	}
}

// bearerOf returns the bearer of a token with the digest; nil if there is none.
func (a *Rules) bearerOf(sum [sha256.Size]byte) (found *bearer) {
	for i := range a.tokens {
		if subtle.ConstantTimeCompare(sum[:], a.tokens[i].digest[:]) == 1 && (found == nil || a.tokens[i].role > found.role) {
			found = &a.tokens[i]
		}
	}
	return found
}

// HasTokens returns whether the configuration has tokens, so that there is something to log in with.
func (a *Gate) HasTokens() bool { return len(a.Access.Load().tokens) > 0 }

// IdentifyPage returns the client that sent a request for the dashboard over TCP: the owner of its login or, without a login, the client that
// [Gate.Identify] returns.
func (a *Gate) IdentifyPage(r *http.Request) *Client {
	if l := a.logins.of(r); l != nil && !HasBearerToken(r) {
		return &Client{Role: l.token.role, token: l.token.name, from: r.RemoteAddr, login: l}
	}
	return a.Identify(r)
}

// LoginOf returns the login of a client; nil if it has none.
func (c *Client) LoginOf() *Login { return c.login }

// PageKey returns what a page of a client must name in orders. Those with a login got it when they logged in, and get none here.
func (a *Gate) PageKey(c *Client) string {
	if c.login != nil {
		return ""
	}
	return a.logins.pageKey(c)
}

func (s *logins) pageKey(c *Client) string {
	h := hmac.New(sha256.New, s.key[:])
	h.Write([]byte(c.String()))
	return hex.EncodeToString(h.Sum(nil))
}

// PageHeader is the header in which pages name the key of their orders. No page of another site can send it.
const PageHeader = "Regent-Page-Key"

// FromPage returns whether a request names the key of its sender's page, or has credentials that no browser sends by itself.
func (a *Gate) FromPage(r *http.Request) bool {
	c := ClientOf(r.Context())
	want := ""
	switch {
	case HasBearerToken(r):
		return true
	case c.login != nil:
		want = c.login.csrf
	default:
		want = a.logins.pageKey(c)
	}
	return subtle.ConstantTimeCompare([]byte(r.Header.Get(PageHeader)), []byte(want)) == 1
}

// IsOurName returns whether a request for the dashboard names this host in a way that no stranger can choose. By TLS the certificate
// shows that; a client that sends a bearer token is no browser that a stranger leads here.
func IsOurName(r *http.Request) bool {
	return r.TLS != nil || HasBearerToken(r) || isLoopbackName(r.Host)
}
