//go:build engines

package etcd_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/engine/enginetest"
	"github.com/regentproject/regent/engines/etcd"
)

func TestMain(m *testing.M) { enginetest.Main(m, open) }

func open(_ context.Context, address string) (engine.Engine, error) {
	e, _, err := etcd.Open("http://" + address)
	return e, err
}

func TestEtcdPassesTheTestOfEngines(t *testing.T) {
	c := serve(t, 3)
	enginetest.Run(t, enginetest.Subject{Address: c.addresses(), Lease: 5 * time.Second, Crash: c.crashLeader, Delete: func(t *testing.T, group string) {
		if _, err := c.client(t).Delete(t.Context(), "regent/groups/"+group); err != nil {
			t.Fatal(err)
		}
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

func TestClustersThatCannotBeUsedAreRefused(t *testing.T) {
	for _, address := range []string{"", "e1:2379", "http://u:geheim@e1:2379", "https://e1:2379/?cacert=/nothing"} {
		if _, _, err := etcd.Open(address); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %v", address, err)
		}
	}
	c := serve(t, 1)
	e, done, err := etcd.Open("http://" + c.addresses())
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	s, err := e.Open(t.Context(), host(t))
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.Campaign(t.Context(), "tokens", "")
	if err != nil {
		t.Fatal(err)
	}
	first.Release()
	if err := e.Raise(t.Context(), "", 1000); err != nil {
		t.Fatal(err)
	}
	if err := e.Raise(t.Context(), "", 10); err != nil {
		t.Fatal(err)
	}
	if _, err := c.client(t).Delete(t.Context(), "regent/groups/tokens"); err != nil {
		t.Fatal(err)
	}
	if second, err := s.Campaign(t.Context(), "tokens", ""); err != nil || second.Token() <= 1000 || second.Token() <= first.Token() {
		t.Errorf("token %d after %d and a floor of 1000 (%v)", second.Token(), first.Token(), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.client(t).Put(t.Context(), "regent/groups/a", `{"version":7}`); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Open(t.Context(), host(t)); err == nil || !strings.Contains(err.Error(), "version 1") {
		t.Errorf("a value of another version: %v", err)
	}
	c.kill(0)
	if _, err := e.Open(t.Context(), host(t)); err == nil || !strings.Contains(err.Error(), "no server answers") {
		t.Errorf("no server: %v", err)
	}
}

// client returns a client of the cluster without proxies.
func (c *cluster) client(t *testing.T) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: strings.Split(c.addresses(), ","), DialTimeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}
