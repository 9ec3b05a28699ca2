package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/internal/owned"
)

// agentFlags say which agent a command asks: that of this host on its socket, or any one by its URL. Both are kept in one place: an agent elsewhere has
// a URL in place of a path.
func agentFlags(c *cobra.Command, to *string) {
	socketFlag(c, to)
	remote := &agentURL{to: to}
	c.Flags().Var(remote, "agent", "ask the agent at this URL, such as https://host2:8008, after 'regent login URL' (default: $REGENT_AGENT)")
	c.MarkFlagsMutuallyExclusive("socket", "agent")
	if at := os.Getenv("REGENT_AGENT"); at != "" && os.Getenv("REGENT_SOCKET") == "" {
		*to = at // looked at when it is used
	}
}

// An agentURL is the value of --agent.
type agentURL struct{ to *string }

func (a *agentURL) Type() string { return "URL" }

func (a *agentURL) String() string {
	if a.to == nil || !isURL(*a.to) {
		return ""
	}
	return *a.to
}

func (a *agentURL) Set(text string) error {
	at, err := checkURL(text)
	*a.to = at
	return err
}

func isURL(at string) bool { return strings.Contains(at, "://") }

// checkURL returns the URL of an agent as it is kept: scheme, host and port.
func checkURL(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "", fmt.Errorf("%q: must be https://HOST:PORT", text)
	case strings.TrimSuffix(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return "", fmt.Errorf("%q: must be https://HOST:PORT and no more", text)
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return "", fmt.Errorf("%q: http would show the token to the network (use https, with http.tls in the agent's configuration)", text)
	}
	return u.Scheme + "://" + strings.ToLower(u.Host), nil
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Credentials are what this user is known by to an agent elsewhere.
type credentials struct {
	// Token is a bearer token of http.tokens.
	Token string `json:"token,omitempty"`
	// Cert and Key are a certificate and its key, and CA has the certificates of who may have signed the agent's, all in PEM.
	Cert string `json:"cert,omitempty"`
	Key  string `json:"key,omitempty"`
	CA   string `json:"ca,omitempty"`
}

// credentialsFile returns where the credentials of this user are, by the URLs of agents.
func credentialsFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("credentials: %w (set HOME or XDG_CONFIG_HOME)", err)
	}
	return filepath.Join(dir, "regent", "agents.json"), nil
}

func readCredentials() (map[string]credentials, error) {
	path, err := credentialsFile()
	if err != nil {
		return nil, err
	}
	all := make(map[string]credentials)
	data, mode, err := owned.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = owned.OnlyOwner(path, mode)
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
		if err != nil {
			err = fmt.Errorf("%s: %w (remove it, and run 'regent login URL' again)", path, err)
		}
	}
	return all, err
}

// writeCredentials puts the credentials into the file of this user, which nobody else may read.
func writeCredentials(all map[string]credentials) (path string, err error) {
	path, err = credentialsFile()
	if err != nil {
		return path, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return path, err
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return path, err
	}
	return path, owned.ReplaceFile(path, append(data, '\n'), 0o600)
}

// newRemoteClient asks the agent at a URL, with the credentials that this user has for it.
func newRemoteClient(at string) *client {
	c := &client{socket: at, base: at}
	at, err := checkURL(at)
	var all map[string]credentials
	if err == nil {
		all, err = readCredentials()
	}
	if err == nil {
		err = c.use(at, all[at])
	}
	c.broken = err
	return c
}

// use has a client show credentials.
func (c *client) use(at string, own credentials) error {
	c.socket, c.base, c.token = at, at, own.Token
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if own.CA != "" {
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM([]byte(own.CA)) {
			return errors.New("--ca: the file has no certificate")
		}
	}
	if own.Cert != "" {
		pair, err := tls.X509KeyPair([]byte(own.Cert), []byte(own.Key))
		if err != nil {
			return fmt.Errorf("certificate and key: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	c.http = &http.Client{Transport: &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // a token is for this agent alone
	return nil
}

// remoteHint says what to do about an error of an agent elsewhere; empty if nothing is known.
func remoteHint(at string, err error) string {
	var unknown x509.UnknownAuthorityError
	var wrongName x509.HostnameError
	var record tls.RecordHeaderError
	var dns *net.DNSError
	switch {
	case errors.As(err, &unknown):
		return fmt.Sprintf("the certificate of %s is not signed by an authority that this host trusts: run 'regent login %s --ca FILE'", at, at)
	case errors.As(err, &wrongName):
		return fmt.Sprintf("the certificate of %s is for another name: %v", at, wrongName)
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Sprintf("no TLS at %s: set http.tls in the configuration of that agent", at)
	case errors.As(err, &dns):
		return fmt.Sprintf("%s: no such host: %v", at, dns)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("no agent listens at %s: see http.listen in the configuration of that agent", at)
	}
	return ""
}
