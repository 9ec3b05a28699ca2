package main

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/config"
)

// A change of keys has at most one line in the audit log, and the command says if it has none or may have none.
func TestKeyChangesHaveOneLine(t *testing.T) {
	for name, c := range map[string]struct {
		agent    http.HandlerFunc // nil: it does not run
		appended bool
		says     string
	}{
		"no agent":                    {nil, true, ""},
		"an agent that takes it down": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"ok":true}`)) }, false, ""},
		"an agent without room": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"error":"no room"}`))
		}, false, "the audit log does not have this change: regent: no room"},
		"an agent that does not answer": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false, "the audit log may not have this change"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f := &config.File{Audit: filepath.Join(dir, "audit")}
			f.Socket.Path = filepath.Join(dir, "a.sock")
			if err := os.WriteFile(f.Audit, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if c.agent != nil {
				l, err := net.Listen("unix", f.Socket.Path)
				if err != nil {
					t.Fatal(err)
				}
				s := httptest.NewUnstartedServer(c.agent)
				_ = s.Listener.Close()
				s.Listener = l
				s.Start()
				defer s.Close()
			}
			var says bytes.Buffer
			command := &cobra.Command{Use: "x"}
			command.SetContext(t.Context())
			command.SetErr(&says)
			fault := errors.New("the disk is full")
			if err := audited(command, f, access.KeyChange{Command: "rotate"}, fault); err != fault {
				t.Errorf("returned %v", err)
			}
			b, err := os.ReadFile(f.Audit)
			if err != nil || strings.Contains(string(b), "the disk is full") != c.appended {
				t.Errorf("%v, the log is %q", err, b)
			}
			if got := says.String(); !strings.Contains(got, c.says) || c.says == "" && got != "" {
				t.Errorf("printed %q", got)
			}
		})
	}
}
