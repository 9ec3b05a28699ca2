package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/secret"
)

// A File is the configuration of an agent.
type File struct {
	// Name says which member of the council this host is.
	Name string `yaml:"name"`
	// Council lists all members for the first start; the list is the same on every host. Once the council has begun, the record counts.
	Council []Member `yaml:"council"`
	// Join lists members of a council that runs and that this host is to join, in place of Council. The record counts once it has joined.
	Join []Contact `yaml:"join"`
	// CouncilID tells the council from all others; empty: the members agree on one when it begins.
	CouncilID string `yaml:"council_id"`
	// KeyFile holds the cluster key, and OldKeyFiles those that are still accepted while it is changed.
	KeyFile     string   `yaml:"key_file"`
	OldKeyFiles []string `yaml:"old_key_files"`
	// PrivateKeyFile holds this member's own key; empty: private.key in Dir.
	PrivateKeyFile string `yaml:"private_key_file"`
	// Engine elects in place of a council; nil: the council does.
	Engine *Engine `yaml:"engine"`
	// Dir is where the member keeps its durable record; empty: it keeps none.
	Dir string `yaml:"dir"`
	// Bootstrap allows a council to begin in which no member has a record.
	Bootstrap bool `yaml:"bootstrap"`
	// Bind is the address to receive packets on; empty: the member's own.
	Bind string `yaml:"bind"`
	// Realtime asks for real-time scheduling; unset: yes.
	Realtime *bool `yaml:"realtime"`
	// Guardian has a process watch the agent's, and report its death.
	Guardian bool `yaml:"guardian"`

	// Profile names the constants to start from, and Timing sets single ones.
	Profile string `yaml:"profile"`
	Timing  Timing `yaml:"timing"`
	// Elector says who goes first in elections; empty: the library's default.
	Elector string `yaml:"elector"`
	// Prefer, if it is set, has leaders hand over to members that go before them, after so long.
	Prefer time.Duration `yaml:"prefer"`
	// Balance spreads the groups over the members.
	Balance bool `yaml:"balance"`
	// Calm is how long a member that comes and goes waits before it may depose local leaders.
	Calm time.Duration `yaml:"calm"`
	// LocalMajority, LocalTurns and LocalTree are options of local groups; see regent.Config.
	LocalMajority bool `yaml:"local_majority"`
	LocalTurns    int  `yaml:"local_turns"`
	LocalTree     int  `yaml:"local_tree"`
	// ElectorFaults and ElectorPatience are f and h of the electors timefree, fsource and hybrid; zero: the library's defaults.
	ElectorFaults   int `yaml:"elector_faults"`
	ElectorPatience int `yaml:"elector_patience"`
	// QuorumVotes is how many votes make a quorum; zero: more than half.
	QuorumVotes int `yaml:"quorum_votes"`
	// Consistent lets programs have groups that agree on who failed. It must be set, since
	// all members have to agree on it.
	Consistent bool `yaml:"consistent"`

	Socket Socket `yaml:"socket"`
	HTTP   HTTP   `yaml:"http"`
	// Etcd serves elections to clients of etcd.
	Etcd Etcd `yaml:"etcd"`
	// Rights say who may do what with single groups; the first that names a group decides.
	Rights []Right `yaml:"rights"`
	// Addresses are those that this agent adds to interfaces for users that may not, and who may have them.
	Addresses []Address `yaml:"addresses"`
	// Audit is the file that orders and refusals are written to; empty: the log.
	Audit string `yaml:"audit"`
	// DefaultGroup is the group that paths without a group are about.
	DefaultGroup string `yaml:"default_group"`
	// Tags say what is special about this host, for tools of Patroni: noloadbalance keeps readers away from it, and load
	// balancers may ask for others.
	Tags map[string]string `yaml:"tags"`
	// Groups are those that are not quorum groups: this host leads local and eventual ones by itself, and takes part in consistent ones for programs.
	Groups []Group `yaml:"groups"`
	// Leases are the lengths of leases of programs that ask for none; the first that names the group counts. Lease is for all other groups;
	// zero: see ProgramLease.
	Leases []LeaseRule   `yaml:"leases"`
	Lease  time.Duration `yaml:"lease"`
	// StopGrace is how long programs may take to stop when the agent stops.
	StopGrace time.Duration `yaml:"stop_grace"`
	Limits    Limits        `yaml:"limits"`
	// Log is the least level that is logged: debug, info, warn or error.
	Log string `yaml:"log"`
	// LogFormat is text or json.
	LogFormat string `yaml:"log_format"`

	path string // where it was read from, for messages
}

// Self returns the member that this host is.
func (f *File) Self() *Member {
	for i := range f.Council {
		if f.Council[i].Name == f.Name {
			return &f.Council[i]
		}
	}
	return &Member{Name: f.Name} // Check has refused that
}

// A Member is a member of the council as everybody knows it.
type Member struct {
	Name      string   `yaml:"name"`
	Address   string   `yaml:"address"`
	Addresses []string `yaml:"addresses"`
	// Priority decides who goes first: higher ones, then by name. Zero is the default, as in the library.
	Priority int `yaml:"priority"`
	// Weight is how large its share of the groups is in a balanced council; zero is 1.
	Weight int `yaml:"weight"`
	// Votes is how many votes it has in quorums; zero is 1.
	Votes int `yaml:"votes"`
	// Witness votes and never leads. Observer neither votes nor leads.
	Witness  bool `yaml:"witness"`
	Observer bool `yaml:"observer"`
	// PublicKeys are what the member proves itself with: one, or two with the oldest first while one is being replaced.
	PublicKeys []string `yaml:"public_keys"`
	// Revoked silences it.
	Revoked bool `yaml:"revoked"`
}

// A Contact is a member of a council that this host joins: enough to reach it and to trust it.
type Contact struct {
	Name       string   `yaml:"name"`
	Address    string   `yaml:"address"`
	Addresses  []string `yaml:"addresses"`
	PublicKeys []string `yaml:"public_keys"`
}

// contacts returns the members that this host asks for the council.
func (f *File) contacts() (out []Member) {
	for _, c := range f.Join {
		out = append(out, Member{Name: c.Name, Address: c.Address, Addresses: c.Addresses, PublicKeys: c.PublicKeys})
	}
	return out
}

// Role is witness (it votes and never leads) or observer (it has no vote); empty for all others.
func (m *Member) Role() string {
	switch {
	case m.Observer:
		return "observer"
	case m.Witness:
		return "witness"
	}
	return ""
}

// addresses returns all addresses of the member.
func (m *Member) addresses() []string {
	if m.Address == "" {
		return m.Addresses
	}
	return append([]string{m.Address}, m.Addresses...)
}

// A Group is one that is not a quorum group.
type Group struct {
	Name string `yaml:"name"`
	// Mode is local (one leader in every part of the network), eventual (all agree in the end) or consistent (all agree on who failed).
	Mode regent.Mode `yaml:"mode"`
	// Elector is of an eventual group.
	Elector string `yaml:"elector"`
}

// A LeaseRule sets the length of leases in some groups.
type LeaseRule struct {
	// Groups are names; one that ends with * stands for all that begin so.
	Groups []string      `yaml:"groups"`
	Lease  time.Duration `yaml:"lease"`
}

// LeaseOf returns the length of the leases of programs that campaign in a group and ask for none; zero: the council's.
func (f *File) LeaseOf(group string) time.Duration {
	for i := range f.Leases {
		if matches(f.Leases[i].Groups, group) {
			return f.Leases[i].Lease
		}
	}
	return f.ProgramLease()
}

// ProgramLease returns the length of leases in groups that no rule names; zero: the council's. Only programs have leases under an agent. So a
// file that sets timing.lease, or takes the profile that exists for its short leases, means them. All others get leases that a pause of a busy
// host does not end.
func (f *File) ProgramLease() time.Duration {
	t, err := f.timing()
	if f.Engine != nil || f.Lease != 0 || f.Timing.Lease != 0 || f.Profile == fast || err != nil {
		return f.Lease
	}
	length := min(max(DefaultLease, t.Lease), t.LongestLease)
	if t.CheckLease(length) != nil {
		return 0
	}
	return length
}

// Timing sets single constants; see regent.Timing. Zero leaves what the profile has.
type Timing struct {
	RoundTrip    time.Duration  `yaml:"round_trip"`
	Renew        time.Duration  `yaml:"renew"`
	PerGroup     *time.Duration `yaml:"per_group"`
	Lease        time.Duration  `yaml:"lease"`
	LongestLease time.Duration  `yaml:"longest_lease"`
	Guard        *time.Duration `yaml:"guard"`
	Heartbeat    time.Duration  `yaml:"heartbeat"`
	Suspect      time.Duration  `yaml:"suspect"`
	Delay        time.Duration  `yaml:"delay"`
	Evict        *time.Duration `yaml:"evict"`
	Drift        float64        `yaml:"drift"`
}

// Socket is where local programs find the agent. Who may open it may lead: its permissions are the boundary.
type Socket struct {
	Path string `yaml:"path"`
	// Mode is in octal, such as "0660"; Group owns the socket if it is set, by name or number.
	Mode  string `yaml:"mode"`
	Group string `yaml:"group"`
}

// HTTP is the agent's HTTP interface.
type HTTP struct {
	// Listen is host:port; empty: no HTTP but on the unix socket.
	Listen string `yaml:"listen"`
	// Probes is host:port of a second listener, without TLS, that serves nothing but role endpoints; empty: there is none.
	Probes string  `yaml:"probes"`
	TLS    TLS     `yaml:"tls"`
	Tokens []Token `yaml:"tokens"`
	// Anonymous is what clients without a token or certificate may do on loopback: read, write or none. Elsewhere they
	// may do nothing. Unset: read, or none if there are tokens.
	Anonymous string `yaml:"anonymous"`
}

// TLS is needed off loopback.
type TLS struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	// ClientCA, if it is set, lets clients in that have a certificate signed by it; WriteNames lists the common names
	// that may write. Others may read.
	ClientCA   string   `yaml:"client_ca"`
	WriteNames []string `yaml:"write_names"`
}

// A Token lets its bearer in.
type Token struct {
	Name string `yaml:"name"`
	// Role is read or write.
	Role string `yaml:"role"`
	// File holds the token; SHA256 is its digest in hexadecimal, for those who do not want it on this host.
	File   string `yaml:"file"`
	SHA256 string `yaml:"sha256"`
}

// Etcd is where clients of etcd find elections. TLS, tokens, anonymous and certificates are those of HTTP.
type Etcd struct {
	// Listen is host:port; empty: elections are not served to clients of etcd.
	Listen string `yaml:"listen"`
}

// Bytes is a size.
type Bytes int64

// Limits bound what clients can make the agent hold.
type Limits struct {
	Connections int   `yaml:"connections"` // at once, on the socket and over HTTP each
	PerSource   int   `yaml:"per_source"`  // of those over HTTP, from one address
	Streams     int   `yaml:"streams"`     // event streams at once
	Candidates  int   `yaml:"candidates"`  // on one connection
	Groups      int   `yaml:"groups"`      // that programs here take part in
	Body        Bytes `yaml:"body"`        // of a request, and of a line on the socket
}

// The defaults.
const (
	DefaultSocket     = "/run/regent/regent.sock"
	DefaultDir        = "/var/lib/regent"
	DefaultConfig     = "/etc/regent/regent.yaml"
	DefaultListen     = "127.0.0.1:8008"
	DefaultEtcdListen = "127.0.0.1:2379"
	DefaultPort       = 7400
	DefaultStopGrace  = 10 * time.Second
	DefaultLease      = 5 * time.Second
)

var defaultLimits = Limits{Connections: 1024, PerSource: 256, Streams: 512, Candidates: 1024, Groups: 100_000, Body: 64 << 10}

// Load reads a file and checks it.
func Load(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	f, err := Parse(path, data)
	if err != nil {
		return nil, err
	}
	return f, f.Check()
}

// unreadable says why a file cannot be read, and what to do.
func unreadable(path string, err error) error {
	do := "look at its disk"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		do = "write one with 'regent init'"
	case errors.Is(err, fs.ErrPermission):
		do = "be root, or let this user read it and the directories above it"
	case isDir(path):
		do = "name the file in it, such as " + filepath.Join(path, filepath.Base(DefaultConfig))
	}
	return fmt.Errorf("config: %w: %s", err, do)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// maxFile is far above what a council of a thousand members needs.
const maxFile = 1 << 20

// Parse reads a configuration strictly and fills in defaults. The path is for messages.
func Parse(path string, data []byte) (*File, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: has %d bytes: at most %d", path, len(data), maxFile)
	}
	if d := nesting(data); d > maxNesting {
		return nil, fmt.Errorf("%s: nests %d lists and mappings: at most %d", path, d, maxNesting)
	}
	if err := strict(path, data); err != nil {
		return nil, err
	}
	f := &File{}
	if err := yaml.Unmarshal(data, f); err != nil {
		return nil, syntax(path, err)
	}
	f.path = path // not before: an empty document makes the whole file a zero one
	f.defaults()
	return f, nil
}

// kinds are what values of a type are in a file.
var kinds = map[string]string{"bool": "true or false", "string": "text", "int": "a whole number", "uint64": "a whole number", "float64": "a number"}

// syntax turns an error of the YAML library into one line with its place.
func syntax(path string, err error) error {
	var y yaml.Error
	if !errors.As(err, &y) || y.GetToken() == nil {
		return fmt.Errorf("%s: %s", path, strings.SplitN(err.Error(), "\n", 2)[0])
	}
	message := y.GetMessage()
	if what, ok := kinds[message[strings.LastIndexByte(message, ' ')+1:]]; ok && strings.HasPrefix(message, "cannot unmarshal ") {
		message = fmt.Sprintf("%s: must be %s", y.GetToken().Value, what)
	}
	switch {
	case strings.Contains(message, "not allowed in this context"):
		message += " (indent it as far as the lines beside it)"
	case strings.Contains(message, "\t"):
		message += " (indent with spaces, not with tabs)"
	}
	return fmt.Errorf("%s:%d: %s", path, y.GetToken().Position.Line, message)
}

func (f *File) defaults() {
	if f.PrivateKeyFile == "" && f.Dir != "" {
		f.PrivateKeyFile = filepath.Join(f.Dir, secret.PrivateName)
	}
	if f.Profile == "" && f.Engine == nil {
		f.Profile = lan
	}
	if f.Socket.Path == "" {
		f.Socket.Path = DefaultSocket
	}
	if f.Socket.Mode == "" {
		f.Socket.Mode = "0660"
	}
	if f.HTTP.Anonymous == "" {
		f.HTTP.Anonymous = "read"
		if len(f.HTTP.Tokens) > 0 || f.HTTP.TLS.ClientCA != "" || !Loopback(f.HTTP.Listen) || !Loopback(f.Etcd.Listen) {
			f.HTTP.Anonymous = "none"
		}
	}
	if f.StopGrace == 0 {
		f.StopGrace = DefaultStopGrace
	}
	if f.Log == "" {
		f.Log = "info"
	}
	if f.LogFormat == "" {
		f.LogFormat = "text"
	}
	l, d := &f.Limits, &defaultLimits
	for _, p := range []struct{ at, to *int }{{&l.Connections, &d.Connections}, {&l.PerSource, &d.PerSource}, {&l.Streams, &d.Streams},
		{&l.Candidates, &d.Candidates}, {&l.Groups, &d.Groups}} {
		if *p.at == 0 {
			*p.at = *p.to
		}
	}
	if l.Body == 0 {
		l.Body = d.Body
	}
}
