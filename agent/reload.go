package agent

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/config"
)

// reload reads the configuration again, puts into force what can be, and says what cannot. A file with an error changes
// nothing.
func (a *Agent) reload(s *server) {
	notify("RELOADING=1")
	defer notify("READY=1")
	file, err := config.Load(a.options.Config)
	if err == nil {
		err = a.applyConfig(file, s)
	}
	if err != nil {
		a.log.Error("the configuration was not read again: nothing has changed", "err", err)
	}
}

// applyConfig puts a new configuration into force as far as it can be.
func (a *Agent) applyConfig(file *config.File, s *server) error {
	old := a.file.Load()
	fixed := old.Fixed(file)
	next := old.With(file)
	before := a.keys.Load()
	if err := a.rekey(next); err != nil {
		return err
	}
	if err := a.adopt(next); err != nil {
		return errors.Join(err, a.rekey(old))
	}
	changed := append(old.ChangedAccess(next), old.ChangedKeys(next)...)
	if now := a.keys.Load(); before != nil && *now != *before {
		changed = append(changed, "secret keys")
	}
	if len(changed) > 0 {
		a.audit.put(AuditLine{Action: "reload", Who: "the configuration", From: a.options.Config, Outcome: "done", Detail: strings.Join(changed, ", ")})
	}
	if s != nil && next.Socket != old.Socket {
		if err := s.permit(&next.Socket); err != nil {
			a.log.Error("the permissions of the socket could not be changed", "err", err)
		}
	}
	if len(fixed) > 0 {
		a.log.Warn("the configuration was read again; some changes need a restart", "restart for", strings.Join(fixed, ", "))
		return nil
	}
	a.log.Info("the configuration was read again", "changed", !reflect.DeepEqual(old, next))
	return nil
}

// rekey puts the keys of a configuration in force. They are read from their files again, which may have changed. A member that does not
// speak yet has them when it does.
func (a *Agent) rekey(file *config.File) error {
	c, err := file.Regent()
	if err != nil {
		return err
	}
	if m := a.joining.Load(); m != nil {
		err = m.Rekey(c)
	} else {
		err = c.Check()
	}
	if err == nil {
		a.keys.Store(digestKeys(&c))
	}
	return err
}

// digestKeys returns a digest of the keys that are in files, to tell whether they have changed.
func digestKeys(c *regent.Config) *[sha256.Size]byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%x %x %q", c.Key, c.OldKeys, c.OwnKeys))
	return &sum
}
