package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/cluster/authority"
	"github.com/regentproject/regent/agent/config"
)

// alone makes a configuration for a council of one with a given HTTP part, without starting it.
func alone(t *testing.T, http string) *testAgent {
	t.Helper()
	dir := shortDir(t)
	r := &testAgent{name: "a", socket: filepath.Join(dir, "a.sock"), config: filepath.Join(dir, "a.yaml")}
	text := "name: a\ncouncil: [{name: a, address: \"" + port(t) + "\"}]\nbootstrap: true\nrealtime: false\ndir: " + filepath.Join(dir, "d") +
		"\nsocket: {path: " + r.socket + "}\nhttp: " + http + "\n"
	if err := os.WriteFile(r.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

// begin starts it.
func (r *testAgent) begin(t *testing.T) {
	t.Helper()
	r.start(t)
	r.await(t)
}

// ask asks with headers and a client, and returns the status.
func (r *testAgent) ask(t *testing.T, c *http.Client, scheme, method, path string, headers ...string) int {
	t.Helper()
	q, err := http.NewRequest(method, scheme+"://"+r.http+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		switch headers[i] {
		case "":
		case "Host":
			q.Host = headers[i+1]
		default:
			q.Header.Set(headers[i], headers[i+1])
		}
	}
	answer, err := c.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

const resign = "/v1/groups/nobody/resign" // 404 for whom may ask

func TestTokensGiveRoles(t *testing.T) {
	dir := t.TempDir()
	for name, token := range map[string]string{"r": "reader-token-0123456789", "w": "writer-token-0123456789"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := alone(t, "{listen: \""+port(t)+"\", tokens: [{name: r, role: read, file: "+dir+"/r}, {name: w, role: write, file: "+dir+"/w}]}")
	r.begin(t)
	for _, c := range []struct {
		token        string
		read, change int
	}{{"", 401, 401}, {"wrong-token-0123456789", 401, 401}, {"reader-token-0123456789", 200, 403}, {"writer-token-0123456789", 200, 404}} {
		var headers []string
		if c.token != "" {
			headers = []string{"Authorization", "Bearer " + c.token}
		}
		if got := r.ask(t, http.DefaultClient, "http", "GET", "/v1/status", headers...); got != c.read {
			t.Errorf("reading with token %q: %d, want %d", c.token, got, c.read)
		}
		if got := r.ask(t, http.DefaultClient, "http", "POST", resign, headers...); got != c.change {
			t.Errorf("changing with token %q: %d, want %d", c.token, got, c.change)
		}
		// Load balancers have no tokens, and learn no more than a yes or no.
		if got := r.ask(t, http.DefaultClient, "http", "GET", "/v1/groups/g/primary", headers...); got != 503 {
			t.Errorf("asking for the role with token %q: %d", c.token, got)
		}
	}
	onSocket := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", r.socket) }}}
	if got := r.ask(t, onSocket, "http", "POST", resign); got != 404 {
		t.Errorf("changing on the socket: %d", got)
	}
}

// A token that is not known is not one of a wrong role: who has it is told so, and how to say who it is.
func TestUnknownTokenIsReported(t *testing.T) {
	r := alone(t, "{listen: \""+port(t)+"\"}")
	r.begin(t)
	q, err := http.NewRequestWithContext(patience(t), "GET", "http://"+r.http+"/v1/status", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer wrong-token-0123456789")
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	if how := answer.Header.Get("WWW-Authenticate"); answer.StatusCode != 401 || how != `Bearer error="invalid_token"` || !strings.Contains(string(text), "unknown bearer token") {
		t.Errorf("%d, WWW-Authenticate %q: %s", answer.StatusCode, how, text)
	}
}

// Without a key the id of the council is what other users of the host must not learn.
func TestCouncilIDIsGivenOnTheSocketOnly(t *testing.T) {
	r := alone(t, "{listen: \""+port(t)+"\", anonymous: read}")
	r.begin(t)
	local := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", r.socket)
	}}}
	for host, c := range map[string]*http.Client{r.http: http.DefaultClient, "agent": local} {
		answer, err := c.Get("http://" + host + "/v1/status")
		if err != nil {
			t.Fatal(err)
		}
		var s api.AgentStatus
		err = json.NewDecoder(answer.Body).Decode(&s)
		_ = answer.Body.Close()
		if err != nil || s.Name != "a" || (len(s.CouncilID) == 32) != (c == local) {
			t.Errorf("by way of %s: %+v, %v", host, s, err)
		}
	}
}

func TestStrangersOnLoopbackOnlyRead(t *testing.T) {
	r := alone(t, "{listen: \""+port(t)+"\"}")
	r.begin(t)
	for _, c := range []struct {
		method, path, header, value string
		want                        int
	}{
		{"GET", "/v1/status", "", "", 200},
		{"POST", resign, "", "", 403},
		// A page under a name of its own that stands for this host.
		{"GET", "/v1/status", "Host", "evil.example:8008", 401},
		{"GET", "/v1/status", "Host", "localhost:8008", 200},
	} {
		if got := r.ask(t, http.DefaultClient, "http", c.method, c.path, c.header, c.value); got != c.want {
			t.Errorf("%s %s with %s: %s: %d, want %d", c.method, c.path, c.header, c.value, got, c.want)
		}
	}
}

func TestPagesOfOtherSitesChangeNothing(t *testing.T) {
	r := alone(t, "{listen: \""+port(t)+"\", anonymous: write}")
	r.begin(t)
	for _, c := range []struct {
		header, value string
		want          int
	}{{"", "", 404}, {"Origin", "http://evil.example", 403}, {"Sec-Fetch-Site", "cross-site", 403}, {"Sec-Fetch-Site", "same-origin", 404}, {"Origin", "http://" + r.http, 404}} {
		if got := r.ask(t, http.DefaultClient, "http", "POST", resign, c.header, c.value); got != c.want {
			t.Errorf("with %s: %s: %d, want %d", c.header, c.value, got, c.want)
		}
	}
}

func TestCertificatesGiveRoles(t *testing.T) {
	ca := authority.New(t)
	ca.Issue("server")
	r := alone(t, "{listen: \""+port(t)+"\", tls: {cert: "+ca.Dir+"/server.pem, key: "+ca.Dir+"/server.key, client_ca: "+ca.Dir+"/authority.pem, write_names: [deploy]}}")
	r.begin(t)
	pool := x509.NewCertPool()
	pool.AddCert(ca.Cert)
	client := func(certs ...tls.Certificate) *http.Client {
		return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: certs}}}
	}
	for _, c := range []struct {
		who          string
		client       *http.Client
		read, change int
	}{{"nobody", client(), 401, 401}, {"monitor", client(ca.Issue("monitor")), 200, 403}, {"deploy", client(ca.Issue("deploy")), 200, 404}} {
		if got := r.ask(t, c.client, "https", "GET", "/v1/status"); got != c.read {
			t.Errorf("%s reads: %d, want %d", c.who, got, c.read)
		}
		if got := r.ask(t, c.client, "https", "POST", resign); got != c.change {
			t.Errorf("%s changes: %d, want %d", c.who, got, c.change)
		}
	}
	stranger := authority.New(t)
	if _, err := client(stranger.Issue("deploy")).Get("https://" + r.http + "/v1/status"); err == nil {
		t.Error("a certificate of a stranger was accepted")
	}
	if _, err := http.Get("http://" + r.http + "/v1/status"); err == nil {
		if got := r.ask(t, http.DefaultClient, "http", "GET", "/v1/status"); got == 200 {
			t.Error("answers without TLS")
		}
	}
}

func TestReloadTakesWhatItCanAndNamesTheRest(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "t")
	if err := os.WriteFile(token, []byte("token-0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	listen := port(t)
	r := alone(t, "{listen: \""+listen+"\"}")
	r.begin(t)
	rewrite := func(from, to string) {
		t.Helper()
		b, err := os.ReadFile(r.config)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(b, []byte(from)) {
			t.Fatalf("no %q in\n%s", from, b)
		}
		if err := os.WriteFile(r.config, bytes.Replace(b, []byte(from), []byte(to), 1), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rewrite("{listen: \""+listen+"\"}", "{listen: \""+listen+"\", tokens: [{name: t, role: write, file: "+token+"}]}\ndefault_group: g\nlimits: {streams: 7}")
	r.agent.reload(nil)
	if got := r.ask(t, http.DefaultClient, "http", "GET", "/v1/status"); got != 401 {
		t.Errorf("without the new token: %d", got)
	}
	if got := r.ask(t, http.DefaultClient, "http", "GET", "/primary"); got != 503 {
		t.Errorf("the new default group: %d", got)
	}
	rewrite("realtime: false", "realtime: true\nprofile: wan")
	rewrite("listen: \""+listen, "listen: \""+port(t))
	r.agent.reload(nil)
	if log := r.log.String(); !strings.Contains(log, "realtime, profile, http.listen") {
		t.Errorf("the log does not say what needs a restart:\n%s", log)
	}
	rewrite("profile: wan", "profil: wan")
	r.agent.reload(nil)
	if log := r.log.String(); !strings.Contains(log, "nothing has changed") || !strings.Contains(log, "did you mean") {
		t.Errorf("the log does not say what is wrong:\n%s", log)
	}
	if got := r.agent.core.Config().Limits.Streams; got != 7 {
		t.Errorf("a bad file has changed the limits to %d", got)
	}
}

// A file that moves to loopback and drops its tokens must not open the address that is still in force.
func TestReloadDoesNotOpenAnotherAddressThanItMeant(t *testing.T) {
	old := &config.File{HTTP: config.HTTP{Listen: "0.0.0.0:8008", Anonymous: "none", Tokens: []config.Token{{Name: "x"}}}}
	next := &config.File{HTTP: config.HTTP{Listen: "127.0.0.1:8008", Anonymous: "write"}}
	if got := old.With(next).HTTP; got.Anonymous != "none" || len(got.Tokens) != 1 {
		t.Errorf("in force: %+v", got)
	}
}
