package access

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/run/address"
	"github.com/regentproject/regent/internal/session"
)

func gateOf(t *testing.T, file *config.File) *Gate {
	t.Helper()
	rules, err := NewRules(file)
	if err != nil {
		t.Fatal(err)
	}
	g := NewGate(slog.New(slog.DiscardHandler))
	g.SetAccess(rules)
	return g
}

// Clients have the rights of the first rule that names the group, by what they are. A token, a certificate and a user of one name are three clients.
func TestClientsHaveTheRightsOfTheFirstRuleThatNamesTheGroup(t *testing.T) {
	const stranger = 4000
	g := gateOf(t, &config.File{Rights: []config.Right{
		{Groups: []string{"billing", "batch/*"}, Lead: []string{"uid:1000", "token:x"}, Operate: []string{"gid:2000"}, Read: []string{"cert:x", "uid:3000"}},
		{Groups: []string{"b*"}, Lead: []string{"anyone"}, Operate: []string{"uid:1000"}},
	}})
	local := func(uid int, gids ...int) *Client { return &Client{Local: true, pid: 9, uid: uid, gids: gids} }
	for _, c := range []struct {
		name   string
		client *Client
		want   string // what the client may do with billing, batch/1, bonds and other: of read, lead, operate
	}{
		{"root", local(0), "rlo rlo rlo rlo"},
		{"the agent's own user", local(os.Geteuid()), "rlo rlo rlo rlo"},
		{"a user that leads", local(1000), "rl rl rlo rlo"},
		{"a group that operates", local(stranger, 7, 2000), "ro ro rl rlo"},
		{"a user that reads", local(3000), "r r rl rlo"},
		{"a stranger", local(stranger), "- - rl rlo"},
		{"an unknown user", &Client{Local: true, uid: 0}, "- - rl rlo"},
		{"a token that leads", &Client{token: "x"}, "rl rl rl rlo"},
		{"a certificate that reads", &Client{cert: "x"}, "r r rl rlo"},
		{"a token over TCP whose number is a user's", &Client{uid: 1000, token: "y"}, "- - rl rlo"},
		{"nobody", &Client{}, "- - rl rlo"},
	} {
		var got []string
		for _, group := range []string{"billing", "batch/1", "bonds", "other"} {
			may := ""
			for right, letter := range map[Right]string{mayRead: "r", MayLead: "l", MayOperate: "o"} {
				if g.Permit(c.client, right, group) == nil {
					may += letter
				}
			}
			sorted := ""
			for _, letter := range "rlo" {
				if strings.ContainsRune(may, letter) {
					sorted += string(letter)
				}
			}
			if sorted == "" {
				sorted = "-"
			}
			got = append(got, sorted)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
	}
}

// Every request on the socket that names a group needs a right on it.
func TestRequestsThatNameAGroupNeedARight(t *testing.T) {
	g := gateOf(t, &config.File{Rights: []config.Right{{Groups: []string{"*"}, Lead: []string{"token:x"}, Operate: []string{"token:x"}, Read: []string{"token:x"}}}})
	for do, right := range map[string]string{session.Campaign: "lead", session.Hold: "lead", session.View: "read", session.Watch: "read", session.Verify: "read"} {
		if err := g.PermitRequest(&Client{Local: true}, &session.Request{Do: do, Group: "g"}); err == nil || !strings.Contains(err.Error(), "may not "+right) {
			t.Errorf("%s: %v", do, err)
		}
	}
	if err := g.PermitRequest(&Client{Local: true}, &session.Request{Do: session.Resign}); err != nil {
		t.Errorf("a request about a candidacy of one's own: %v", err)
	}
}

// A client over TCP is what its credentials say. A wrong token is never better than none, and only names of this host make a client without credentials
// what the configuration allows.
func TestClientsOverTCPAreWhatTheirCredentialsSay(t *testing.T) {
	sum := "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" // of "test"
	f := &config.File{}
	f.HTTP.Anonymous, f.HTTP.TLS.WriteNames = "read", []string{"boss"}
	f.HTTP.Tokens = []config.Token{{Name: "x", Role: "write", SHA256: sum}}
	rules, err := NewRules(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		token, cert, host string
		role              Role
		who               string
	}{
		{"test", "", "example.org", Writer, "token x"},
		{"tes", "", "localhost", Anonymous, "anonymous"},
		{"tes", "boss", "localhost", Anonymous, "anonymous"},
		{"", "boss", "example.org", Writer, "certificate boss"},
		{"", "clerk", "example.org", Reader, "certificate clerk"},
		{"", "", "example.org", Anonymous, "anonymous"},
		{"", "", "localhost:8008", Reader, "anonymous"},
		{"", "", "[::1]:8008", Reader, "anonymous"},
		{"", "", "127.0.0.1.example.org", Anonymous, "anonymous"},
	} {
		q := httptest.NewRequest("GET", "/", nil)
		q.Host = c.host
		if c.token != "" {
			q.Header.Set("Authorization", "Bearer "+c.token)
		}
		if c.cert != "" {
			cert := &x509.Certificate{Subject: pkix.Name{CommonName: c.cert}}
			q.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert}}}
		}
		if got := rules.identify(q); got.Role != c.role || got.String() != c.who {
			t.Errorf("%+v: role %d, %v", c, got.Role, got)
		}
	}
}

// Orders of users stay on their host unless the configuration lets them go: root and the agent's user may give them elsewhere, and tokens and certificates
// that may operate. Where a rule lists who may, the others may not.
func TestOrdersOfUsersStayOnTheirHost(t *testing.T) {
	g := gateOf(t, &config.File{HTTP: config.HTTP{TLS: config.TLS{WriteNames: []string{"x"}}}, Rights: []config.Right{
		{Groups: []string{"open"}},
		{Groups: []string{"listed"}, Remote: []string{"uid:1000", "gid:2000", "token:x"}},
		{Groups: []string{"anyone"}, Remote: []string{"anyone"}},
	}})
	for _, c := range []struct {
		name   string
		client *Client
		want   string // about which of the groups, one that no rule names, and all
	}{
		{"root", &Client{Local: true, pid: 9}, "open listed anyone other all"},
		{"the agent's user", &Client{Local: true, pid: 9, uid: os.Geteuid()}, "open listed anyone other all"},
		{"a user", &Client{Local: true, pid: 9, uid: 4000}, "anyone"},
		{"a user that is listed", &Client{Local: true, pid: 9, uid: 1000}, "listed anyone"},
		{"a user of a group that is listed", &Client{Local: true, pid: 9, uid: 4000, gids: []int{2000}}, "listed anyone"},
		{"an unknown user", &Client{Local: true}, "anyone"},
		{"without credentials", &Client{}, "anyone"},
		{"a token that is listed", &Client{token: "x"}, "open listed anyone other all"},
		{"another token", &Client{token: "y"}, "open anyone other"},
		{"a certificate", &Client{cert: "x"}, "open anyone other"},
		{"a member", g.OfMember("b", "", ""), "open listed anyone other all"},
		{"a member for a token", g.OfMember("b", "y", ""), "open anyone other"},
		{"a member for a certificate", g.OfMember("b", "", "x"), "open anyone other"},
	} {
		var may []string
		for _, group := range []string{"open", "listed", "anyone", "other", "all"} {
			if g.PermitRemote(c.client, strings.TrimPrefix(group, "all")) == nil {
				may = append(may, group)
			}
		}
		if got := strings.Join(may, " "); got != c.want {
			t.Errorf("%s may give orders elsewhere about %q, want %q", c.name, got, c.want)
		}
	}
	if who := g.OfMember("b", "y", ""); who.Role != Anonymous || who.String() != "member b for token y" || who.origin() != "host b" {
		t.Errorf("a token that this host does not know: role %d, %s, %s", who.Role, who, who.origin())
	}
	if who := g.OfMember("b", "", "x"); who.Role != Writer || who.String() != "member b for certificate x" {
		t.Errorf("a certificate: role %d, %s", who.Role, who)
	}
}

// The agent adds an address for clients that the configuration lists, in the groups that it lists, and nothing else.
func TestTheAgentAddsAddressesForThoseWhoAreListed(t *testing.T) {
	g := gateOf(t, &config.File{Addresses: []config.Address{
		{Address: "10.0.0.9/24@eth0", Groups: []string{"web", "w/*"}, Lead: []string{"uid:1000", "gid:2000"}},
		{Address: "fd00::9/64@eth0", Groups: []string{"*"}, Lead: []string{"anyone"}},
	}})
	const stranger = 4000
	local := func(uid int, gids ...int) *Client { return &Client{Local: true, pid: 9, uid: uid, gids: gids} }
	for _, c := range []struct {
		name, group, addresses string
		client                 *Client
		want                   string // what the refusal has; empty: there is none
	}{
		{"a listed user", "web", "10.0.0.9/24@eth0", local(1000), ""},
		{"both addresses", "w/1", "10.0.0.9/24@eth0 fd00::9/64@eth0", local(1000), ""},
		{"a listed group of users", "web", "10.0.0.9/24@eth0", local(stranger, 7, 2000), ""},
		{"root", "web", "10.0.0.9/24@eth0", local(0), ""},
		{"anyone", "db", "fd00::9/64@eth0", local(stranger), ""},
		{"a stranger", "web", "10.0.0.9/24@eth0", local(stranger), "uid 4000 may not have it: add uid:4000"},
		{"one of two", "web", "fd00::9/64@eth0 10.0.0.9/24@eth0", local(stranger), "uid 4000 may not have it"},
		{"an unknown user", "web", "10.0.0.9/24@eth0", &Client{Local: true, uid: 1000}, "may not have it"},
		{"another group", "db", "10.0.0.9/24@eth0", local(1000), "lists it for other groups, web, w/*"},
		{"another prefix", "web", "10.0.0.9/16@eth0", local(1000), "does not list it"},
		{"another interface", "web", "10.0.0.9/24@eth1", local(0), "does not list it"},
		{"another address", "web", "10.0.0.8/24@eth0", local(0), "does not list it: add '- {address: 10.0.0.8/24@eth0, groups: [web], lead: [\"uid:0\"]}'"},
	} {
		wanted, err := address.ParseAll(strings.Fields(c.addresses))
		if err != nil {
			t.Fatal(err)
		}
		err = g.PermitAddresses(c.client, c.group, wanted)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
