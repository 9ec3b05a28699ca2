package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/elector"
	"github.com/regentproject/regent/internal/names"
	"github.com/regentproject/regent/internal/session"
)

// Check returns everything that is wrong with the file, as far as it can be known without joining the council. It reads
// the files that the configuration names.
func (f *File) Check() error {
	var found []error
	fail := func(format string, args ...any) { found = append(found, fmt.Errorf(f.path+": "+format, args...)) }
	f.checkCouncil(fail)
	f.checkTiming(fail)
	f.checkSocket(fail)
	f.checkHTTP(fail)
	if _, err := f.keys(); err != nil {
		fail("%w", err)
	}
	f.checkMemberKeys(fail)
	if f.KeyFile == "" && !f.local() {
		fail("key_file is not set: the council has addresses off this host; make a key with 'regent keygen' and give it to every member")
	}
	if f.DefaultGroup != "" {
		if err := session.CheckGroup(f.DefaultGroup); err != nil {
			fail("default_group: %w", err)
		}
	}
	if f.LogFormat != "text" && f.LogFormat != "json" {
		fail("log_format %q: must be text or json", f.LogFormat)
	}
	if _, err := f.Level(); err != nil {
		fail("%w", err)
	}
	if err := elector.Kind(f.Elector).Check(); err != nil {
		fail("%w", err)
	}
	if f.Prefer < 0 {
		fail("prefer %v: must not be negative; leave it out to let leaders stay", f.Prefer)
	}
	if f.Balance && f.Prefer > 0 {
		fail("prefer %v with balance: leave one out (balance moves groups to members of higher priority)", f.Prefer)
	}
	f.checkGroups(fail)
	f.checkLeases(fail)
	f.checkRights(fail)
	f.checkAddresses(fail)
	if f.Audit != "" && !filepath.IsAbs(f.Audit) {
		fail("audit %q: must be an absolute path; leave it out to have the lines in the log", f.Audit)
	}
	if f.StopGrace < 0 {
		fail("stop_grace %v: must not be negative", f.StopGrace)
	}
	l := &f.Limits
	for _, n := range []struct {
		name  string
		value int64
	}{{"connections", int64(l.Connections)}, {"per_source", int64(l.PerSource)}, {"streams", int64(l.Streams)}, {"candidates", int64(l.Candidates)}, {"groups", int64(l.Groups)}, {"body", int64(l.Body)}} {
		if n.value < 1 {
			fail("limits.%s %d: must be at least 1", n.name, n.value)
		}
	}
	if len(found) == 0 {
		// What the library would refuse; it stops at the first.
		if c, err := f.Regent(); err != nil {
			fail("%w", err)
		} else if err := c.Check(); err != nil && f.Engine == nil {
			fail("%w", err)
		}
	}
	return errors.Join(found...)
}

type failer func(format string, args ...any)

func (f *File) checkCouncil(fail failer) {
	if f.Engine != nil {
		f.checkEngine(fail)
		return
	}
	if f.Bind != "" {
		if err := address(f.Bind); err != nil {
			fail("bind: %w", err)
		}
	}
	if len(f.Join) > 0 {
		f.checkJoin(fail)
		return
	}
	if len(f.Council) == 0 {
		fail("council is empty: list all members, this one among them")
		return
	}
	seen := make(map[string]bool)
	where := make(map[string]string)
	for i := range f.Council {
		m := &f.Council[i]
		switch {
		case m.Name == "":
			fail("member %d of the council has no name", i+1)
			continue
		case seen[m.Name]:
			fail("member %s is listed twice: names are unique within a council", m.Name)
		case len(m.addresses()) == 0:
			fail("member %s has no address: give it one as host:port, such as %s:%d", m.Name, m.Name, DefaultPort)
		}
		seen[m.Name] = true
		if m.Witness && m.Observer {
			fail("member %s is a witness and an observer: a witness votes, an observer does not (choose one)", m.Name)
		}
		for _, a := range m.addresses() {
			if err := address(a); err != nil {
				fail("member %s: %w", m.Name, err)
			}
			if other, ok := where[a]; ok && other != m.Name {
				fail("members %s and %s have the same address %s", other, m.Name, a)
			}
			where[a] = m.Name
		}
	}
	if !slices.ContainsFunc(f.Council, func(m Member) bool { return m.Role() == "" }) {
		fail("no member of the council may lead: all are witnesses or observers (add one that is neither)")
	}
	if f.Name == "" {
		fail("name is not set: say which member of the council this host is")
	} else if !seen[f.Name] {
		names := make([]string, len(f.Council))
		for i, m := range f.Council {
			names[i] = m.Name
		}
		fail("name %q is not in the council (%s)", f.Name, strings.Join(names, ", "))
	}
}

// checkJoin looks at a host that joins a council.
func (f *File) checkJoin(fail failer) {
	if len(f.Council) > 0 {
		fail("join and council: leave one out (join is for a host that is added to a council that runs)")
	}
	if f.Name == "" {
		fail("name is not set: say which member of the council this host is to be")
	}
	if f.Bind == "" {
		fail("bind is not set: a host that joins receives packets there, such as %s:%d", "10.0.0.4", DefaultPort)
	}
	if f.Dir == "" {
		fail("dir is not set: a host that joins keeps the council there")
	}
	for i, m := range f.contacts() {
		switch {
		case m.Name == "" || len(m.addresses()) == 0:
			fail("join: entry %d needs a name and an address", i+1)
		case m.Name == f.Name:
			fail("join: %s is this host (list members of the council that runs)", m.Name)
		}
		for _, a := range m.addresses() {
			if err := address(a); err != nil {
				fail("join: member %s: %w", m.Name, err)
			}
		}
	}
}

// checkGroups looks at the groups that are not quorum groups.
func (f *File) checkGroups(fail failer) {
	seen := make(map[string]bool)
	for _, g := range f.Groups {
		if err := session.CheckGroup(g.Name); err != nil {
			fail("groups: %w", err)
		} else if seen[g.Name] {
			fail("groups: name %.40q: must be unique", g.Name)
		}
		seen[g.Name] = true
		switch {
		case g.Mode == regent.Consistent && !f.Consistent:
			fail("groups: mode consistent of %s: the council has no consistent groups (set consistent: true at every member)", g.Name)
		case g.Mode != regent.Local && g.Mode != regent.Eventual && g.Mode != regent.Consistent:
			fail("groups: mode %q of %s: must be local, eventual or consistent; quorum groups need not be listed", g.Mode, g.Name)
		}
		if err := elector.Kind(g.Elector).Check(); err != nil {
			fail("groups: %s: %w", g.Name, err)
		}
		if g.Elector != "" && g.Mode != regent.Eventual {
			fail("groups: %s: elector %s: only eventual groups have one", g.Name, g.Elector)
			continue
		}
		if err := f.checkElector(elector.Kind(g.Elector)); err != nil {
			fail("groups: %s: %w", g.Name, err)
		}
	}
}

// countingMembers is how many members that may lead an elector needs that counts answers: one of them may be down.
const countingMembers = 3

// checkElector says why an eventual group cannot have an elector in this council. The member would refuse it, but only once
// it runs.
func (f *File) checkElector(kind elector.Kind) error {
	switch kind {
	case elector.Rank, elector.Ring, elector.Hall:
		return fmt.Errorf("elector %s is for quorum groups: use %s, %s, %s or %s", kind, elector.Stable, elector.TimeFree, elector.FSource, elector.Hybrid)
	case elector.TimeFree, elector.FSource, elector.Hybrid:
		n := 0
		for i := range f.Council {
			if f.Council[i].Role() == "" {
				n++
			}
		}
		if n < countingMembers {
			return fmt.Errorf("elector %s: %d members that may lead: must be at least %d, of which one may be down; use %s with fewer", kind, n, countingMembers, elector.Stable)
		}
	}
	return nil
}

// address checks host:port.
func address(a string) error {
	host, port, err := net.SplitHostPort(a)
	switch {
	case err != nil && strings.Count(a, ":") > 1:
		return fmt.Errorf("address %q: must be host:port, with an IPv6 address in brackets, such as [fd00::1]:7400", a)
	case err != nil:
		return fmt.Errorf("address %q: must be host:port", a)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || host == "" {
		return fmt.Errorf("address %q: must have a host and a port from 1 to 65535", a)
	}
	return nil
}

func (f *File) checkTiming(fail failer) {
	if _, err := f.timing(); err != nil {
		fail("%w", err)
	}
}

// checkLeases looks at the lengths of leases of single groups.
func (f *File) checkLeases(fail failer) {
	t, err := f.timing()
	if err != nil {
		return // checkTiming reports it
	}
	if err := checkLength(&t, f.Lease); err != nil {
		fail("lease: %w", err)
	}
	for i := range f.Leases {
		l := &f.Leases[i]
		if len(l.Groups) == 0 {
			fail("leases: rule %d names no groups: list them in groups; * stands for all", i+1)
		}
		if l.Lease == 0 {
			fail("leases: rule %d has no lease: name a length, such as 5s", i+1)
		}
		if err := checkLength(&t, l.Lease); err != nil {
			fail("leases: rule %d: %w", i+1, err)
		}
	}
}

// checkLength returns what is wrong with leases of a length.
func checkLength(t *regent.Timing, length time.Duration) error {
	if length > t.LongestLease {
		return fmt.Errorf("lease %v: longer than timing.longest_lease of this file, %v (raise that; in a council that runs, 'regent members timing longest_lease=%v' first, and then 'regent config sync')",
			length, t.LongestLease, length)
	}
	return t.CheckLease(length)
}

func (f *File) checkSocket(fail failer) {
	if _, err := f.Socket.Permissions(); err != nil {
		fail("%w", err)
	}
	if _, err := f.Socket.GroupID(); err != nil {
		fail("%w", err)
	}
	// The kernel's limit, with a byte for the end.
	if n := len(f.Socket.Path); n > 107 {
		fail("socket.path has %d bytes: at most 107", n)
	}
}

func (f *File) checkHTTP(fail failer) {
	h := &f.HTTP
	if !slices.Contains([]string{"none", "read", "write"}, h.Anonymous) {
		fail("http.anonymous %q: must be none, read or write", h.Anonymous)
	}
	seen := make(map[string]bool)
	for i := range h.Tokens {
		t := &h.Tokens[i]
		switch {
		case t.Name == "" || seen[t.Name] || names.Check(t.Name) != nil:
			fail("http.tokens: name %q of token %d: must be unique, not empty, and plain text", t.Name, i+1)
		case t.Role != "read" && t.Role != "write":
			fail("http.tokens: role %q of %s: must be read or write", t.Role, t.Name)
		case (t.File == "") == (t.SHA256 == ""):
			fail("http.tokens: %s must have either file or sha256", t.Name)
		default:
			if _, err := t.Digest(); err != nil {
				fail("http.tokens: %w", err)
			}
		}
		seen[t.Name] = true
	}
	f.checkTLS(fail)
	f.checkListener(fail, "http.listen", h.Listen, DefaultListen)
	f.checkListener(fail, "etcd.listen", f.Etcd.Listen, DefaultEtcdListen)
	if h.Probes != "" {
		if err := address(h.Probes); err != nil {
			fail("http.probes: %w", err)
		}
	}
}

// local says whether the whole council is on this host.
func (f *File) local() bool {
	for _, m := range slices.Concat(f.Council, f.contacts()) {
		if slices.ContainsFunc(m.addresses(), func(a string) bool { return !Loopback(a) }) {
			return false
		}
	}
	return Loopback(f.Bind)
}

// Permissions returns the mode of the socket.
func (s *Socket) Permissions() (os.FileMode, error) {
	n, err := strconv.ParseUint(s.Mode, 8, 32)
	if err != nil || n > 0o777 {
		return 0, fmt.Errorf("socket.mode %q: must be in octal, such as \"0660\"", s.Mode)
	}
	return os.FileMode(n), nil
}

// GroupID returns the number of the group that owns the socket; -1 if it is not set.
func (s *Socket) GroupID() (int, error) {
	if s.Group == "" {
		return -1, nil
	}
	if n, err := strconv.Atoi(s.Group); err == nil && n >= 0 {
		return n, nil
	}
	g, err := user.LookupGroup(s.Group)
	if err != nil {
		return 0, fmt.Errorf("socket.group: %w: create it, or leave the key out", err)
	}
	return strconv.Atoi(g.Gid)
}

// Level returns the least level that is logged.
func (f *File) Level() (slog.Level, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(f.Log)); err != nil {
		return 0, fmt.Errorf("log %q: must be debug, info, warn or error", f.Log)
	}
	return l, nil
}

// timing returns the profile with the single constants put in.
func (f *File) timing() (regent.Timing, error) {
	t, err := f.base()
	if err != nil {
		return t, err
	}
	set := &f.Timing
	if set.Lease != 0 && set.LongestLease == 0 {
		t.LongestLease = max(t.LongestLease, set.Lease)
	}
	if set.Drift != 0 {
		t.Drift = set.Drift
	}
	if set.Guard != nil {
		t.Guard = *set.Guard
	}
	if set.PerGroup != nil {
		t.PerGroup = *set.PerGroup
	}
	if set.Evict != nil {
		t.Evict = *set.Evict
	}
	put(&t.RoundTrip, set.RoundTrip)
	put(&t.Renew, set.Renew)
	put(&t.Lease, set.Lease)
	put(&t.LongestLease, set.LongestLease)
	put(&t.Heartbeat, set.Heartbeat)
	put(&t.Suspect, set.Suspect)
	put(&t.Delay, set.Delay)
	return t, nil
}

func put[T comparable](to *T, value T) {
	var zero T
	if value != zero {
		*to = value
	}
}

// keys reads the key files.
func (f *File) keys() ([][]byte, error) {
	var out [][]byte
	if f.KeyFile == "" && len(f.OldKeyFiles) > 0 {
		return nil, errors.New("old_key_files without key_file: set key_file")
	}
	for _, path := range append([]string{f.KeyFile}, f.OldKeyFiles...) {
		if path == "" {
			continue
		}
		k, err := regent.ReadKey(path)
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	return out, nil
}

// longestStop is for how long the member renews the lease of a program that was asked to stop. The agent counts the grace of each
// program, which is shorter.
const longestStop = 24 * time.Hour

// Regent returns the configuration of the member.
func (f *File) Regent() (regent.Config, error) {
	t, err := f.timing()
	if err != nil {
		return regent.Config{}, err
	}
	keys, err := f.keys()
	if err != nil {
		return regent.Config{}, err
	}
	c := regent.Config{Name: f.Name, CouncilID: f.CouncilID, Dir: f.Dir, Bootstrap: f.Bootstrap, Timing: t, Bind: f.Bind,
		Elector: elector.Kind(f.Elector), Prefer: f.Prefer, Balance: f.Balance, Calm: f.Calm, Consistent: f.Consistent, NoRealtime: f.Realtime != nil && !*f.Realtime, Guardian: f.Guardian,
		LocalMajority: f.LocalMajority, LocalTurns: f.LocalTurns, LocalTree: f.LocalTree,
		ElectorFaults: f.ElectorFaults, ElectorPatience: f.ElectorPatience, QuorumVotes: f.QuorumVotes,
		StopWithin: longestStop}
	if len(keys) > 0 {
		c.Key, c.OldKeys = keys[0], keys[1:]
	}
	c.OwnKeys, err = f.ownKeys()
	if err != nil && (len(f.Council) > 1 || len(f.Join) > 0) { // a member that is alone needs a key only once others come
		return regent.Config{}, err
	}
	c.Council, c.Join = peers(f.Council), peers(f.contacts())
	return c, nil
}

// Peers returns the listed members as the library wants them.
func (f *File) Peers() []regent.Peer { return peers(f.Council) }

func peers(members []Member) (out []regent.Peer) {
	for i := range members {
		m := &members[i]
		out = append(out, regent.Peer{Name: m.Name, Addrs: m.addresses(), Priority: m.Priority, Weight: m.Weight, Votes: m.Votes, Witness: m.Witness, Observer: m.Observer, PublicKeys: m.PublicKeys, Revoked: m.Revoked})
	}
	return out
}
