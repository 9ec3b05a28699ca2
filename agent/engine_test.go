package agent

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/engine/enginetest"
	"github.com/regentproject/regent/engine/register"
	"github.com/regentproject/regent/internal/session"
)

// named is a store with a name of its own.
type named struct {
	*enginetest.Memory
	name string
}

func (n named) Name() string { return n.name }

// Limits says of a store that is named so that its tokens cannot be compared.
func (n named) Limits() engine.Limits { return engine.Limits{NoFence: n.name == "unfenced"} }

// engineHost is an agent with an engine, whose notes are in a directory.
type engineHost struct {
	stores map[string]*enginetest.Memory
	dir    string
}

func (h *engineHost) engines() Openers {
	all := make(Openers)
	for name, s := range h.stores {
		all[name] = func(string) (engine.Engine, func() error, error) {
			return register.New(named{s, name}), func() error { return nil }, nil
		}
	}
	return all
}

// elector asks for the elector of a file with the engine; empty: with a council.
func (h *engineHost) elector(t *testing.T, kind string) (core.Elector, error) {
	t.Helper()
	a := &Agent{core: &core.Agent{Log: slog.New(slog.NewTextHandler(io.Discard, nil))}, options: Options{Engines: h.engines()}}
	e, _, err := a.elector(h.file(kind))
	return e, err
}

func (h *engineHost) file(kind string) *config.File {
	f := &config.File{Name: "a", Dir: h.dir}
	if kind != "" {
		f.Engine = &config.Engine{Kind: kind, Address: "x"}
	}
	return f
}

func TestAnAgentDoesNotGoOnWithAnotherEngineByItself(t *testing.T) {
	h := &engineHost{stores: map[string]*enginetest.Memory{"one": {}, "two": {}}, dir: t.TempDir()}
	e, err := h.elector(t, "one")
	if err != nil {
		t.Fatal(err)
	}
	e.See(41)
	for _, kind := range []string{"two", ""} {
		if _, err := h.elector(t, kind); err == nil || !strings.Contains(err.Error(), "this host used one") {
			t.Errorf("%q after one: %v", kind, err)
		}
	}
	if _, err := h.elector(t, "one"); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if _, err := h.elector(t, "three"); err == nil || !strings.Contains(err.Error(), "one, two") {
		t.Errorf("an engine that there is not: %v", err)
	}
	from, to, floor, err := SwitchEngine(t.Context(), h.file("two"), h.engines(), 0)
	if err != nil || !strings.HasPrefix(from, "one ") || !strings.HasPrefix(to, "two ") || floor < 41 {
		t.Errorf("switch from %q to %q above %d (%v)", from, to, floor, err)
	}
	if _, err := h.elector(t, "two"); err != nil {
		t.Errorf("after the switch: %v", err)
	}
	if now, _, err := h.stores["two"].Swap(t.Context(), "g", register.Entry{}, register.Entry{}); err != nil || now.Token <= 41 {
		t.Errorf("token %d (%v)", now.Token, err)
	}
}

func TestAChangeFromACouncilNeedsAToken(t *testing.T) {
	h := &engineHost{stores: map[string]*enginetest.Memory{"one": {}}, dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(h.dir, recordName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := h.elector(t, "one"); err == nil || !strings.Contains(err.Error(), "this host used council") {
		t.Errorf("%v", err)
	}
	if _, _, _, err := SwitchEngine(t.Context(), h.file("one"), h.engines(), 0); err == nil || !strings.Contains(err.Error(), "--above") {
		t.Errorf("without a token: %v", err)
	}
	if _, _, floor, err := SwitchEngine(t.Context(), h.file("one"), h.engines(), 500); err != nil || floor != 500 {
		t.Errorf("above %d (%v)", floor, err)
	}
	if _, err := h.elector(t, "one"); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(h.dir, engineNoteName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := h.elector(t, "one"); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged note: %v", err)
	}
}

// openOnEngine starts an agent on a store in this process.
func openOnEngine(t *testing.T, kind string, s *enginetest.Memory) *testAgent {
	t.Helper()
	dir := shortDir(t)
	r := &testAgent{name: "a", socket: filepath.Join(dir, "s"), config: filepath.Join(dir, "c.yaml"),
		engines: (&engineHost{stores: map[string]*enginetest.Memory{kind: s}}).engines()}
	text := "name: a\ndir: " + filepath.Join(dir, "d") + "\nengine: {kind: " + kind + ", address: x}\nsocket: {path: " + r.socket + "}\nhttp: {listen: \"" + port(t) + "\"}\nrealtime: false\ndefault_group: g\n"
	if err := os.WriteFile(r.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.start(t)
	r.await(t)
	return r
}

func TestAgentOnAnEngineServesProgramsAsOneOfACouncil(t *testing.T) {
	s := new(enginetest.Memory)
	r := openOnEngine(t, "store", s)
	l, err := r.dial(t).Campaign(patience(t), session.Candidate{Group: "g", Name: "worker"})
	if err != nil {
		t.Fatal(err)
	}
	if !l.Valid() || l.Token() != s.Entry("g").Token || s.Entry("g").Holder != "a" {
		t.Errorf("valid %v, token %d, entry %+v", l.Valid(), l.Token(), s.Entry("g"))
	}
	if status, body := r.get(t, "/primary"); status != 200 {
		t.Errorf("/primary: %d %v", status, body)
	}
	status, body := r.get(t, "/v1/status")
	if e, ok := body["engine"].(map[string]any); status != 200 || !ok || e["name"] != "store" || e["missing"] == nil || body["council_id"] != nil {
		t.Errorf("status %d, %v", status, body)
	}
	if err := r.agent.core.CheckSuccessor("b"); !errors.Is(err, engine.ErrUnsupported) {
		t.Errorf("transfer: %v", err)
	}
	if err := l.Resign(patience(t)); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the entry is free", func() bool { return s.Entry("g").Free })
}

// stamp asks over the socket for a stamp in the group g, and returns the status.
func (r *testAgent) stamp(t *testing.T, token string) (int, error) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", r.socket)
	}}}
	answer, err := c.Post("http://agent/v1/groups/g/edict", "application/json", strings.NewReader(`{"token": `+token+`}`))
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

func TestAgentOnAnEngineWithoutTokensGivesProgramsNone(t *testing.T) {
	s := new(enginetest.Memory)
	r := openOnEngine(t, "unfenced", s)
	for turn := range 2 {
		l, err := r.dial(t).Campaign(patience(t), session.Candidate{Group: "g", Name: "worker"})
		if err != nil {
			t.Fatal(err)
		}
		if l.Token() != 0 || !l.Valid() {
			t.Errorf("token %d, valid %v", l.Token(), l.Valid())
		}
		if all := r.agent.core.Sessions("g"); len(all) != 1 || all[0].Token != 0 || all[0].State != "leading" {
			t.Errorf("sessions %+v", all)
		}
		if k := r.agent.core.Leader("g"); k == nil || k.Number() != s.Entry("g").Token {
			t.Errorf("leader %+v, entry %+v", k, s.Entry("g"))
		}
		for _, token := range []string{"0", "1"} {
			if status, err := r.stamp(t, token); err != nil || status != http.StatusConflict {
				t.Errorf("a stamp with token %s: %d, %v", token, status, err)
			}
		}
		if err := l.Resign(patience(t)); err != nil {
			t.Fatal(err)
		}
		cluster.Eventually(t, "the history has the leadership, and how it ended", func() bool {
			c, n := r.agent.core.Known().Group("g")
			return c != nil && c.Leader == "" && n == uint64(turn+1) && c.Ended != ""
		})
	}
}
