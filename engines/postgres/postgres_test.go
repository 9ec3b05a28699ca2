//go:build engines

package postgres_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/engine/enginetest"
	"github.com/regentproject/regent/engines/postgres"
)

func TestMain(m *testing.M) { enginetest.Main(m, open) }

func open(_ context.Context, address string) (engine.Engine, error) {
	e, _, err := postgres.Open("postgres://regent@" + address + "/regent?connect_timeout=20")
	return e, err
}

func TestPostgresPassesTheTestOfEngines(t *testing.T) {
	s := serve(t)
	enginetest.Run(t, enginetest.Subject{Address: s.address, Lease: 4 * time.Second, Crash: s.crash, Time: s.setTime, Delete: func(t *testing.T, group string) {
		s.exec(t, "delete from regent_groups where name = $1", group)
	}})
}

// host is a host that can open an engine.
func host(t *testing.T) engine.Host {
	t.Helper()
	clock, err := engine.SystemClock()
	if err != nil {
		t.Fatal(err)
	}
	return engine.Host{Name: "a", Clock: clock, Lease: engine.DefaultLease, Renew: engine.DefaultRenew, Drift: 0.001, Log: slog.New(slog.DiscardHandler)}
}

// refuses opens the engine, which must fail with an error that has the text.
func refuses(t *testing.T, dsn, text string) {
	t.Helper()
	e, done, err := postgres.Open(dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := e.Open(ctx, host(t)); err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "geheim") {
		t.Errorf("error %v, want one that contains %q, and no password", err, text)
	}
}

func TestServersThatCannotBeUsedAreRefused(t *testing.T) {
	s := start(t)
	refuses(t, s.dsn("regent"), "regent engine sql")
	s.exec(t, postgres.Schema)
	s.exec(t, postgres.Schema) // again, as it may be
	s.exec(t, "create role agent login password 'geheim'")
	other := strings.Replace(s.dsn("regent"), "regent@", "agent:geheim@", 1)
	refuses(t, other, "rights are missing")
	s.exec(t, "grant select, insert, update on regent_groups to agent")
	s.exec(t, "grant usage on sequence regent_tokens to agent")
	s.exec(t, "grant select, insert on regent_floors to agent")
	e, done, err := postgres.Open(other)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	session, err := e.Open(t.Context(), host(t))
	if err != nil {
		t.Fatalf("with the rights that the schema names: %v", err)
	}
	first, err := session.Campaign(t.Context(), "tokens", "")
	if err != nil {
		t.Fatal(err)
	}
	first.Release()
	if err := e.Raise(t.Context(), "tokens", 1000); err != nil {
		t.Fatal(err)
	}
	if err := e.Raise(t.Context(), "tokens", 10); err != nil {
		t.Fatal(err)
	}
	s.exec(t, "delete from regent_groups")
	second, err := session.Campaign(t.Context(), "tokens", "")
	if err != nil || second.Token() <= 1000 {
		t.Errorf("token %d after a floor of 1000 (%v)", second.Token(), err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	s.exec(t, "comment on table regent_groups is 'regent groups, version 7'")
	refuses(t, other, "version 7")
	s.kill()
	refuses(t, other, s.address)
	s.options = append(s.options, "fsync=off")
	s.run(t)
	refuses(t, other, "fsync")
}
