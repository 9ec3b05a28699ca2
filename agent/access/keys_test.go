package access

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/api"
)

// While the agent does not run, a command appends its line, and makes no file that the agent could not write to.
func TestKeyChangesOfAStoppedAgentAreAppended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	change := KeyChange{Command: "exchange", Detail: strings.Repeat("x", 2*maxKeyDetail)}
	for _, p := range []string{"", path} {
		if err := AppendAudit(p, change.Line("uid 7", "pid 9")); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was made")
	}
	const first = "{\"action\":\"resign\"}\n"
	if err := os.WriteFile(path, []byte(first), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := AppendAudit(path, change.Line("uid 7", "pid 9")); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line, ok := bytes.CutPrefix(b, []byte(first))
	var got AuditLine
	if err := json.Unmarshal(line, &got); !ok || err != nil || got.Who != "uid 7" || got.From != "pid 9" || got.Time.IsZero() || len(got.Detail) != maxKeyDetail {
		t.Errorf("%v: the line is %.200s", err, line)
	}
}

// The agent reports a lost line to the command: its change must not seem to be in the log.
func TestKeyChangeWithoutRoomIsRefused(t *testing.T) {
	l := NewLog(slog.New(slog.DiscardHandler))
	operator := &Client{Local: true, pid: 1}
	for i := range auditDepth + 1 { // nobody writes
		err := l.KeyChange(operator, &KeyChange{Command: "rotate"})
		var refused *api.Error
		if full := i == auditDepth; errors.As(err, &refused) != full || full && refused.Status != http.StatusServiceUnavailable {
			t.Fatalf("line %d: %v", i, err)
		}
	}
	if l.EverLost() != 1 {
		t.Errorf("%d lines count as lost", l.EverLost())
	}
}
