package kubernetes

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/engine/register"
)

// InCluster is the address for a program in a pod: that of the API server, the token and the namespace come from where Kubernetes puts them. A namespace may follow, after a slash.
const InCluster = "in-cluster"

// accountDir is where a pod has its token.
const accountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// Open returns the engine on the API server behind an address: [InCluster], or "https://HOST:PORT/NAMESPACE?token_file=FILE&cacert=FILE", or the same with cert=FILE&key=FILE in the
// place of the token. The token is in a file only, which is read again for every request. With http the host must be this one ('kubectl proxy').
// It does not connect yet. The function closes the connections.
func Open(address string) (e engine.Engine, closeAll func() error, err error) {
	a, namespace, err := parse(address, accountDir, os.Getenv)
	if err != nil {
		return nil, nil, fmt.Errorf("engine kubernetes: %w", err)
	}
	closeAll = func() error {
		a.client.CloseIdleConnections()
		return nil
	}
	return register.New(newStore(a, namespace)), closeAll, nil
}

// New returns the engine on an API server by a client that sees to authentication, such as that of rest.HTTPClientFor in client-go; server is the Host of its configuration.
func New(client *http.Client, server, namespace string) (engine.Engine, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || namespace == "" {
		return nil, fmt.Errorf("engine kubernetes: server %q, namespace %q: must be a URL and a name", server, namespace)
	}
	return register.New(newStore(&api{client: client, base: strings.TrimSuffix(server, "/"), host: u.Host}, namespace)), nil
}

func newStore(a *api, namespace string) *store {
	return &store{api: a, namespace: namespace, clock: time.Now, renewed: make(map[string]time.Time)}
}

const (
	dialTimeout = 5 * time.Second
	// maxConns is how many connections there are at most. Each has one request at a time.
	maxConns = 16
	// idle is how long a connection is kept that has nothing to do.
	idle = 90 * time.Second
)

var errAddress = errors.New("address: must be " + InCluster + ", " + InCluster + "/NAMESPACE or https://HOST:PORT/NAMESPACE?token_file=FILE&cacert=FILE")

// parse reads an address. Its errors have no secrets, because there are none in it.
func parse(address, dir string, env func(string) string) (a *api, namespace string, err error) {
	if rest, ok := strings.CutPrefix(address, InCluster); ok && (rest == "" || rest[0] == '/') {
		address, err = inCluster(strings.Trim(rest, "/"), dir, env)
		if err != nil {
			return nil, "", err
		}
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, "", errAddress
	}
	namespace = strings.Trim(u.Path, "/")
	q := u.Query()
	switch {
	case u.User != nil:
		return nil, "", errors.New("address: has a user or a password, which API servers do not take (use token_file)")
	case q.Has("token"):
		return nil, "", errors.New("address: has a token (put it into a file, and name that with token_file)")
	case namespace == "":
		return nil, "", errors.New("address: has no namespace (add it as the path)")
	case !subdomain.MatchString(namespace):
		return nil, "", fmt.Errorf("address: %q cannot be a namespace", namespace)
	case u.Scheme == "http" && (!loopback(u.Hostname()) || q.Has("token_file")):
		return nil, "", errors.New("address: http is for a proxy on this host, such as 'kubectl proxy', and takes no token: use https")
	}
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		MaxConnsPerHost:     maxConns,
		MaxIdleConnsPerHost: maxConns,
		IdleConnTimeout:     idle,
		Protocols:           new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true) // not HTTP/2: a connection that is dead must hold up one request only
	t.TLSClientConfig, err = secure(q)
	if err != nil {
		return nil, "", err
	}
	client := &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	a = &api{client: client, base: u.Scheme + "://" + u.Host, host: u.Host, tokenFile: q.Get("token_file")}
	if a.tokenFile != "" {
		if _, err := os.ReadFile(a.tokenFile); err != nil {
			return nil, "", fmt.Errorf("token_file: %w", err)
		}
	}
	return a, namespace, nil
}

// inCluster returns the address that a pod finds in its environment.
func inCluster(namespace, dir string, env func(string) string) (string, error) {
	host, port := env("KUBERNETES_SERVICE_HOST"), env("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return "", errors.New("address: " + InCluster + ": this is no pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set (use https://HOST:PORT/NAMESPACE?token_file=FILE&cacert=FILE)")
	}
	if namespace == "" {
		b, err := os.ReadFile(filepath.Join(dir, "namespace"))
		if err != nil {
			return "", fmt.Errorf("address: %s: the pod has no service account (automountServiceAccountToken): %w", InCluster, err)
		}
		namespace = strings.TrimSpace(string(b))
	}
	q := url.Values{"token_file": {filepath.Join(dir, "token")}, "cacert": {filepath.Join(dir, "ca.crt")}}
	return (&url.URL{Scheme: "https", Host: net.JoinHostPort(host, port), Path: "/" + namespace, RawQuery: q.Encode()}).String(), nil
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// secure reads the certificates that an address names. That of the client is read again for every connection.
func secure(q url.Values) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if file := q.Get("cacert"); file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("cacert: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("cacert: %s has no certificate", file)
		}
	}
	if cert, key := q.Get("cert"), q.Get("key"); cert != "" {
		load := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(cert, key)
			return &pair, err
		}
		if _, err := load(nil); err != nil {
			return nil, fmt.Errorf("cert: %w", err)
		}
		c.GetClientCertificate = load
	}
	return c, nil
}
