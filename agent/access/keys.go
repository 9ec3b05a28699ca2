package access

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/internal/owned"
)

// A KeyChange is a change of keys in the files of this host, which a command of the command line has made or attempted.
type KeyChange struct {
	// Command is exchange, rotate or revoke.
	Command string `json:"command"`
	// Detail names the members and the fingerprints.
	Detail string `json:"detail,omitempty"`
	// Failure is why the command failed; empty if it did not. It may have written some of the files before.
	Failure string `json:"failure,omitempty"`
	// Reread has the agent put the keys in the files of this host in force before it answers. It reads nothing else again.
	Reread bool `json:"reread,omitempty"`
}

// maxKeyDetail bounds what a line says of a change of keys.
const maxKeyDetail = 4096

// Line returns the line of the audit log.
func (k *KeyChange) Line(who, from string) AuditLine {
	l := AuditLine{Time: time.Now(), Action: "keys " + k.Command, Who: who, From: from, Outcome: "done", Detail: k.Detail}
	if k.Failure != "" {
		l.Outcome, l.Detail = "failed", strings.TrimPrefix(k.Detail+": "+k.Failure, ": ")
	}
	l.Detail = l.Detail[:min(len(l.Detail), maxKeyDetail)]
	return l
}

// KeyChange takes down who changed keys. It returns an error if the line is lost, for the caller to report. Only root and the agent's user can have done so, and only the socket tells that it is them.
func (l *Log) KeyChange(c *Client, k *KeyChange) error {
	switch {
	case !c.isOperator():
		return api.Errorf(http.StatusForbidden, "%s may not change keys (run the command as root or as the agent's user, on its host)", c)
	case !slices.Contains([]string{"exchange", "rotate", "revoke"}, k.Command):
		return api.Errorf(http.StatusBadRequest, "command %.40q: must be exchange, rotate or revoke", k.Command)
	}
	if !l.Put(k.Line(c.String(), c.origin())) {
		return api.Errorf(http.StatusServiceUnavailable, "the audit log has no room for the line (see its disk: lines wait for it)")
	}
	return nil
}

// AppendAudit appends a line to the file of the audit log, for commands that run while the agent does not. It makes no file: the agent's
// user must own it.
func AppendAudit(path string, line AuditLine) error {
	if path == "" {
		return nil
	}
	file, err := owned.OpenFile(path, os.O_WRONLY|os.O_APPEND, auditMode)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	b, err := json.Marshal(line)
	if err == nil {
		_, err = file.Write(append(b, '\n'))
	}
	return errors.Join(err, file.Close())
}
