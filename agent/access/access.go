package access

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/processes"
)

// A Role is what a client may do.
type Role int

const (
	Anonymous Role = iota
	Reader
	Writer
)

func roleOf(name string) Role {
	switch name {
	case "read":
		return Reader
	case "write":
		return Writer
	}
	return Anonymous
}

// Rules says who may do what over TCP.
type Rules struct {
	tokens     []bearer
	anonymous  Role
	writeNames []string
	TLS        *tls.Config // nil without TLS
	// rules say what clients may do with single groups.
	rules []rule
	// addresses are those that the agent adds for users that may not.
	addresses []addressRule
}

// A Gate decides who may do what, and keeps the audit log of who did, or was refused.
type Gate struct {
	// Access is replaced by a reload.
	Access   atomic.Pointer[Rules]
	Audit    *Log
	logins   *logins
	attempts attempts
}

func NewGate(log *slog.Logger) *Gate { return &Gate{Audit: NewLog(log), logins: newLogins()} }

// SetAccess puts rights into force. Logins end with their tokens.
func (a *Gate) SetAccess(rights *Rules) {
	a.Access.Store(rights)
	a.logins.keep(rights)
}

type bearer struct {
	digest [sha256.Size]byte
	name   string
	role   Role
}

func NewRules(file *config.File) (*Rules, error) {
	h := &file.HTTP
	a := &Rules{anonymous: roleOf(h.Anonymous), writeNames: h.TLS.WriteNames}
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
	a.addresses, err = newAddressRules(file)
	if err != nil {
		return nil, err
	}
	if h.TLS.Cert != "" && (h.Listen != "" || file.Etcd.Listen != "") {
		a.TLS, err = LoadTLS(file)
		if err != nil {
			return nil, err
		}
	}
	return a, nil
}

// identify returns who sent a request over TCP.
func (a *Rules) identify(r *http.Request) *Client {
	c := &Client{from: r.RemoteAddr}
	if HasBearerToken(r) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), bearerScheme)
		if b := a.bearerOf(sha256.Sum256([]byte(token))); b != nil {
			c.Role, c.token = b.role, b.name
		}
		return c // a wrong token is never better than none
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		c.Role, c.cert = Reader, r.TLS.PeerCertificates[0].Subject.CommonName
		if slices.Contains(a.writeNames, c.cert) {
			c.Role = Writer
		}
	}
	// Without credentials, a page of another site could make a browser ask in its owner's name, under a host name of its
	// own that stands for this host. Such a request names that host.
	if a.anonymous > c.Role && isLoopbackName(r.Host) {
		c.Role = a.anonymous
	}
	return c
}

// Stranger returns the sender of a request whose credentials do not count.
func Stranger(r *http.Request) *Client { return &Client{from: r.RemoteAddr} }

// bearerScheme is how an Authorization header begins that has a token.
const bearerScheme = "Bearer "

// HasBearerToken says whether a request has a bearer token.
func HasBearerToken(r *http.Request) bool {
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

// OfAnotherUser says whether neither root nor the agent's own user opened a connection on the socket.
func OfAnotherUser(c net.Conn) bool {
	uid, ok := processes.User(c)
	return ok && uid != 0 && uid != os.Geteuid()
}

// MayWrite says whether the sender of a request that came through the agent's listeners may change anything. The rights of single groups
// are looked at when it does.
func MayWrite(r *http.Request) bool { return ClientOf(r.Context()).Role >= Writer }

// LoadTLS reads certificates.
func LoadTLS(file *config.File) (*tls.Config, error) {
	t := &file.HTTP.TLS
	cert, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, fmt.Errorf("http.tls: %w", err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}}
	if t.ClientCA != "" {
		pem, err := os.ReadFile(t.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("http.tls.client_ca: %w", err)
		}
		c.ClientCAs = x509.NewCertPool()
		if !c.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("http.tls.client_ca: %s holds no certificate", t.ClientCA)
		}
		c.ClientAuth = tls.VerifyClientCertIfGiven
	}
	return c, nil
}
