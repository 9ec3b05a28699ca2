package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A user logs in to an agent elsewhere, and asks it with what was stored, which only that user can read. The error for each mistake names what to do.
func TestCommandsAskAnAgentElsewhere(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("REGENT_SOCKET", "")
	t.Setenv("REGENT_AGENT", "")
	asked := ""
	agent := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		asked = q.Method + " " + q.URL.Path + " of " + q.Host
		w.Header().Set("Content-Type", "application/json")
		switch q.Header.Get("Authorization") {
		case "Bearer right":
			fmt.Fprint(w, `{"name":"b","group":"g","leader":"c","council":{"members":[]}}`)
		case "Bearer moved":
			http.Redirect(w, q, "https://localhost:1/", http.StatusTemporaryRedirect)
		default:
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":"unknown bearer token"}`)
		}
	}))
	defer agent.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	at, ca := agent.URL, filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: agent.Certificate().Raw}), 0o644); err != nil {
		t.Fatal(err)
	}
	try := func(want int, said, in string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if got := run(t.Context(), args, strings.NewReader(in), &out, &out); got != want || !strings.Contains(out.String(), said) {
			t.Errorf("regent %s: status %d, want %d: %s", strings.Join(args, " "), got, want, out.String())
		}
	}
	file := filepath.Join(dir, "regent", "agents.json")

	try(3, "run 'regent login "+at+" --ca FILE'", "", "resign", "g", "--agent", at)
	try(3, "run 'regent login "+at+" --ca FILE'", "right\n", "login", at)
	try(1, "unknown bearer token", "wrong\n", "login", at, "--ca", ca)
	try(1, "the token is empty", "\n", "login", at, "--ca", ca)
	try(1, "no such file", "", "login", at, "--ca", ca, "--token-file", dir+"/none")
	if _, err := os.Stat(file); err == nil {
		t.Error("something was stored that the agent had not accepted")
	}
	try(0, "logged in to the agent of b", "right\n", "login", at, "--ca", ca)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	try(0, "g was given up", "", "resign", "g", "--agent", at+"/")
	if want := "POST /v1/groups/g/resign of " + strings.TrimPrefix(at, "https://"); asked != want {
		t.Errorf("asked %s, want %s", asked, want)
	}
	t.Setenv("REGENT_AGENT", at)
	try(0, "g was handed over: c leads it", "", "transfer", "g", "c")
	try(3, "no agent listens at "+dir+"/a.sock", "", "resign", "g", "--socket", dir+"/a.sock")
	t.Setenv("REGENT_AGENT", "ftp://x")
	try(1, `"ftp://x": must be https://HOST:PORT`, "", "resign", "g")
	t.Setenv("REGENT_AGENT", "")

	for _, url := range []string{"host2", "https://", "https://h/x", "https://u@h", "http://10.0.0.1:8008"} {
		try(2, url, "", "resign", "g", "--agent", url)
	}
	try(2, "socket", "", "resign", "g", "--agent", at, "--socket", "x")
	try(3, "no TLS at", "", "resign", "g", "--agent", strings.Replace(plain.URL, "http:", "https:", 1))
	try(3, "no agent listens at https://127.0.0.1:1", "", "who", "g", "--agent", "https://127.0.0.1:1")
	try(1, "Temporary Redirect", "moved\n", "login", at, "--ca", ca)

	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	try(1, "run 'chmod go= "+file+"'", "", "resign", "g", "--agent", at)
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	try(0, "logged out of "+at, "", "logout", at)
	try(1, "no credentials are stored for "+at, "", "logout", at)
	try(3, "--ca FILE", "", "resign", "g", "--agent", at)
}
