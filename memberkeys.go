package regent

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/owned"
	"github.com/regentproject/regent/internal/protocol"
	agreed "github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/secret"
	"github.com/regentproject/regent/internal/wire"
)

// ReadKeys reads the keys of members from a directory, as 'regent keys exchange --dir' fills it: this member's own from private.key, and those of
// the others from all files that end in .pub. It sets [Config.OwnKeys] and, for members that are in the council, [Peer.PublicKeys].
func (c *Config) ReadKeys(dir string) error {
	private, err := secret.ReadPrivate(filepath.Join(dir, secret.PrivateName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("private key file: %w (run 'regent keys exchange --dir %s --name %s' to draw this member's key)", err, dir, c.Name)
	case err != nil:
		return fmt.Errorf("private key file: %w", err)
	}
	c.OwnKeys = ownKeys(&private)
	files, err := filepath.Glob(filepath.Join(dir, "*.pub"))
	if err != nil {
		return err
	}
	council := slices.Clone(c.Council)
	for _, path := range files {
		data, _, err := owned.ReadFile(path)
		if err != nil {
			return fmt.Errorf("public key file: %w", err)
		}
		keys, err := secret.ParsePublic(path, data)
		if err != nil {
			return fmt.Errorf("public key file: %w", err)
		}
		for i := range council {
			if list := keys[council[i].Name]; list != nil {
				council[i].PublicKeys = nil
				for _, k := range list {
					council[i].PublicKeys = append(council[i].PublicKeys, k.String())
				}
			}
		}
	}
	c.Council = council
	return nil
}

// ownKeys returns the text form of what a member alone has.
func ownKeys(own *identity.Own) OwnKeys {
	out := OwnKeys{TagKey: own.Tag.Text()}
	for _, k := range own.Private {
		out.PrivateKeys = append(out.PrivateKeys, k.Text())
	}
	return out
}

// DrawKeys draws the keys of every member of a council, puts the public keys into its entries, and returns the members' own keys by
// name. It is for tests and for councils within one program: elsewhere each host draws its own ('regent init', 'regent keys exchange').
func DrawKeys(council []Peer) map[string]OwnKeys {
	all := make(map[string]OwnKeys)
	for i := range council {
		own := identity.DrawOwn()
		council[i].PublicKeys = []string{own.Private[0].Public().String()}
		all[council[i].Name] = ownKeys(&own)
	}
	return all
}

// pairs computes what this member shares with each of the others.
func (c *Config) pairs(all *council) (*wire.Pairs, error) { return c.pairsOf(all, nil) }

// pairsOf is pairs where others were in force before. In a council that members have agreed on, a member without a key of use is one
// that is revoked.
func (c *Config) pairsOf(all *council, before *wire.Pairs) (*wire.Pairs, error) {
	ring, err := c.keyring(all)
	if err != nil {
		return nil, err
	}
	p := wire.PairsConfig{Ring: ring, Self: all.self, Before: before}
	for i, text := range c.PrivateKeys {
		key, err := identity.ParsePrivate(text)
		if err != nil {
			return nil, fmt.Errorf("config: private key %d: %w", i+1, err) // which does not contain the key
		}
		p.Private = append(p.Private, key)
	}
	if len(p.Private) == 0 && len(all.peers) > 1 {
		return nil, errors.New("config: no private key: every member has its own (draw one with 'regent keys exchange', or with DrawKeys in a test)")
	}
	if _, err := identity.ParseTagKey(c.TagKey); err != nil && len(all.peers) > 1 {
		return nil, fmt.Errorf("config: tag key: %w (it is in the file with the private keys)", err)
	}
	owners := make(map[identity.Public]string)
	for r := range all.peers {
		m, err := identityOf(&all.peers[r])
		switch {
		case all.absent.Has(protocol.Rank(r)), err != nil && all.changed():
			m = wire.Identity{Name: all.peers[r].Name}
		case err != nil:
			return nil, err
		}
		for _, k := range m.Keys {
			if other := owners[k]; other != "" {
				return nil, fmt.Errorf("config: members %s and %s have the same public key %s: every member draws its own", other, m.Name, k.Fingerprint())
			}
			owners[k] = m.Name
		}
		if protocol.Rank(r) == all.self {
			if err := checkOwnKeys(p.Private, m.Keys); err != nil && !all.changed() {
				return nil, err
			}
		} else if len(m.Keys) == 0 && !all.peers[r].Revoked && !all.changed() {
			return nil, fmt.Errorf("config: member %s has no public key (run 'regent keys exchange' there, and pass its output to 'regent keys exchange' here)", m.Name)
		}
		p.Members = append(p.Members, m)
	}
	if all.me().Revoked && !all.changed() {
		return nil, fmt.Errorf("config: this member, %s, is revoked (remove it from the council, or give it a new key with 'regent keys exchange --restore')", c.Name)
	}
	pairs, err := wire.NewPairs(p)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return pairs, nil
}

// lifeTags computes the tags of this member's lives; nil if it has no key for them, as in a council of one.
func (m *Member) lifeTags() func(protocol.Inc, protocol.StartBits) protocol.Tag {
	key, err := identity.ParseTagKey(m.config.TagKey)
	if err != nil {
		return nil // pairs refuses it
	}
	id := m.councilID
	if all := m.council(); all.conf != nil {
		id = all.conf.Founder() // peers keep tags while the council is given up for another one
	}
	return wire.LifeTags(key, id, m.config.Name)
}

// identity returns the name and the public keys of a member.
func identityOf(p *Peer) (wire.Identity, error) {
	out := wire.Identity{Name: p.Name}
	if len(p.PublicKeys) > identity.MaxKeys {
		return out, fmt.Errorf("config: member %s has %d public keys: at most %d", p.Name, len(p.PublicKeys), identity.MaxKeys)
	}
	if p.Revoked {
		return out, nil
	}
	for _, text := range p.PublicKeys {
		key, err := identity.ParsePublic(text)
		if err != nil {
			return out, fmt.Errorf("config: member %s: public key %.50q: %w", p.Name, text, err)
		}
		out.Keys = append(out.Keys, key)
	}
	return out, nil
}

// checkOwnKeys refuses public keys of this member of which it has no private one. A council of one has no use for either.
func checkOwnKeys(private []identity.Private, listed []identity.Public) error {
	has := func(k identity.Public) bool {
		return slices.ContainsFunc(private, func(p identity.Private) bool { return p.Public() == k })
	}
	if len(private) == 0 || len(listed) == 0 || slices.ContainsFunc(listed, has) {
		return nil
	}
	return fmt.Errorf("config: this member's public key %s is listed, but it has the private key of %s (run 'regent keys exchange' to list the right one)",
		listed[0].Fingerprint(), private[0].Public().Fingerprint())
}

// memberKeys are the keys of a member until its loop has them.
type memberKeys struct {
	sync.Mutex
	pairs *wire.Pairs
	// running says that the loop has the keys, and takes other ones.
	running bool
	// founding passes other keys to the founding of the council, before the loop runs.
	founding func(*wire.Pairs)
}

// Rekey puts the keys of a configuration in force while the member runs or waits for the id of its council: Key, OldKeys, PrivateKeys, and
// for each member PublicKeys and Revoked. TagKey must be that of [Join]: peers hold tags of this life under it. All else must be as it
// was, and is not looked at. Leases go on. A member that loses its key here is silenced as if
// its links were cut: what was promised to it and by it stands until it lapses, and its vote counts in every quorum.
func (m *Member) Rekey(c Config) error {
	if err := m.councilOnly("keys"); err != nil {
		return err
	}
	m.keys.Lock() // so that keys come into force in the order of the calls
	defer m.keys.Unlock()
	if c.TagKey != m.config.TagKey {
		return errors.New("config: another tag key: this member has another identity (restart it)")
	}
	all, err := m.under(&c)
	if err != nil {
		return err
	}
	to, err := c.pairs(all)
	if err != nil {
		return err
	}
	m.changing.source.Store(&c)
	if !m.keys.running {
		m.keys.pairs = to
		m.keys.founding(to)
		return nil
	}
	done := make(chan error, 1)
	if err := m.loop.Do(func(protocol.Time) { done <- m.rekey(&c) }); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-m.loop.Ended():
		return ErrClosed
	}
}

// under returns the council in force with the keys of a configuration.
func (m *Member) under(c *Config) (*council, error) {
	present := m.council()
	if present != nil && present.conf != nil {
		return c.under(present.conf, present)
	}
	all, err := c.council()
	if err != nil {
		return nil, err
	}
	if all.self != present.self || !slices.Equal(all.names(), present.names()) {
		return nil, errors.New("config: other members than those of the council: restart to change them")
	}
	return all, nil
}

// rekey puts the keys of a configuration in force, on the loop: the council may be another one by now.
func (m *Member) rekey(c *Config) error {
	all, err := m.under(c)
	if err != nil {
		return err
	}
	to, err := c.pairsOf(all, m.port.Wire.Pairs())
	if err != nil {
		return err
	}
	if names := all.otherKeys(c.Council); len(names) > 0 {
		m.log.Warn("the configuration lists other keys than members have agreed on: those agreed on count ('regent members set' changes them)", "members", names)
	}
	if m.fixed == "" {
		m.present.Store(all)
		m.port.Herald.SetCourier(m.courier())
	}
	return m.port.SetKeys(to)
}

// keyProblem compares the keys that a member has with those that a peer says to know; empty if they agree. Agreed says that members agree on keys.
func keyProblem(own []identity.ID, lists identity.ID, agreed bool) string {
	if lists == (identity.ID{}) || len(own) == 0 || lists == own[len(own)-1] {
		return ""
	}
	what := "run 'regent keys exchange' there"
	if agreed {
		what = "run 'regent keys rotate' here, which goes on"
	}
	return fmt.Sprintf("lists the key %v of this member, whose newest is %v (%s)", lists, own[len(own)-1], what)
}

// otherwise returns the keys of members where they are others than in the configuration: before the first change files have the keys, and a file may
// revoke a member at any time.
func (m *Member) otherwise(conf *agreed.Config) (keys []agreed.NamedKey) {
	all := m.council()
	for i := range conf.Members {
		x := &conf.Members[i]
		key := keyText(all.peers[x.Seat].PublicKeys)
		switch {
		case all.peers[x.Seat].Revoked:
			keys = append(keys, agreed.NamedKey{Name: x.Name})
		case conf.Number == 0 && key != "" && x.Name != m.config.Name:
			keys = append(keys, agreed.NamedKey{Name: x.Name, Key: key})
		case conf.Number == 0 && x.Name == m.config.Name:
			keys = append(keys, agreed.NamedKey{Name: x.Name, Key: m.changing.source.Load().ownKeyText()})
		}
	}
	return keys
}

// ownKey returns the public keys that a goal has for the member that is asked, by the text of those that it has private ones of now. It has
// those that members have agreed on, as long as it has a private key for one of them: to replace keys is a change of its own.
func ownKey(conf *agreed.Config, x *agreed.Member, own string) string {
	listed := func(k string) bool { return slices.Contains(strings.Fields(x.Key), k) }
	if conf.Number > 0 && slices.ContainsFunc(strings.Fields(own), listed) {
		return x.Key
	}
	return own
}
