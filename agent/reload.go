package agent

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/internal/identity"
)

// reload reads the configuration again, puts into force what can be, and says what cannot. A file with an error changes
// nothing.
func (a *Agent) reload(s *server) {
	notify("RELOADING=1")
	defer notify("READY=1")
	file, err := a.options.load()
	if err == nil {
		err = a.applyConfig(file, s)
	}
	if err != nil {
		a.core.Log.Error("the configuration was not read again: nothing has changed", "err", err)
	}
}

// applyConfig puts a new configuration into force as far as it can be.
func (a *Agent) applyConfig(file *config.File, s *server) error {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	old := a.core.Config()
	next := old.With(file)
	if a.core.GoesByAgreement() {
		next = next.WithAgreed(file)
	}
	fixed := next.Fixed(file)
	before := a.keys.Load()
	adopt, err := a.prepare(next)
	if err != nil {
		return err
	}
	if err := a.rekey(next); err != nil { // the last step that can fail
		return err
	}
	adopt()
	a.programs.Recheck()
	changed := append(old.ChangedAccess(next), old.ChangedKeys(next)...)
	changed = append(changed, a.keys.Load().changes(before)...)
	if len(changed) > 0 {
		a.gate.Audit.Put(access.AuditLine{Action: "reload", Who: "the configuration", From: a.options.Config, Outcome: "done", Detail: strings.Join(changed, ", ")})
	}
	if s != nil && next.Socket != old.Socket {
		if err := s.permit(&next.Socket); err != nil {
			a.core.Log.Error("the permissions of the socket could not be changed", "err", err)
		}
	}
	if len(fixed) > 0 {
		a.core.Log.Warn("the configuration was read again; some changes need a restart", "restart for", strings.Join(fixed, ", "))
		return nil
	}
	a.core.Log.Info("the configuration was read again", "changed", !reflect.DeepEqual(old, next))
	return nil
}

// reread puts the keys in force that are in the files of this host now. The configuration stays the one that was read last.
func (a *Agent) reread() error {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	if a.putKeys == nil {
		return core.ErrJoining
	}
	before := a.keys.Load()
	err := a.rekey(a.core.Config())
	if err != nil {
		return err
	}
	if changed := a.keys.Load().changes(before); len(changed) > 0 {
		a.gate.Audit.Put(access.AuditLine{Action: "reload", Who: "the configuration", From: a.options.Config, Outcome: "done", Detail: strings.Join(changed, ", ")})
	}
	return nil
}

// takeRekey is given how to put keys in force as soon as there is a member, which may still wait for its council. The file may have
// changed since the member read it.
func (a *Agent) takeRekey(put func(regent.Config) error) {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	a.putKeys = put
	if err := a.rekey(a.core.Config()); err != nil {
		a.core.Log.Error("the keys of the last reload are not in force", "err", err)
	}
}

// rekey puts the keys of a configuration in force. They are read from their files again, which may have changed. The caller holds
// reloading.
func (a *Agent) rekey(file *config.File) error {
	c, err := file.Regent()
	if err != nil {
		return err
	}
	if a.putKeys != nil {
		err = a.putKeys(c)
	} else {
		err = c.Check()
	}
	if err == nil {
		a.keys.Store(digestKeys(&c))
	}
	return err
}

// secretKeys tells whether the keys that are in files have changed.
type secretKeys struct {
	cluster [sha256.Size]byte
	// own are the fingerprints of this member's keys, the oldest first.
	own []string
}

// digestKeys returns what to compare keys by.
func digestKeys(c *regent.Config) *secretKeys {
	k := &secretKeys{cluster: sha256.Sum256(fmt.Appendf(nil, "%x %x", c.Key, c.OldKeys))}
	for _, text := range c.PrivateKeys {
		if key, err := identity.ParsePrivate(text); err == nil { // else it is not in force
			k.own = append(k.own, key.Public().Fingerprint())
		}
	}
	return k
}

// changes names what differs from the keys before; nothing if there were none.
func (k *secretKeys) changes(before *secretKeys) (out []string) {
	if before == nil {
		return nil
	}
	if k.cluster != before.cluster {
		out = append(out, "cluster keys")
	}
	if !slices.Equal(k.own, before.own) {
		out = append(out, "private keys: now "+strings.Join(k.own, " and ")+", before "+strings.Join(before.own, " and "))
	}
	return out
}
