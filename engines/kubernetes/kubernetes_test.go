package kubernetes

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/engine/register"
	"github.com/regentproject/regent/engines/kubernetes/kubetest"
)

// serve starts a stand-in, and returns its address for Open.
func serve(t *testing.T) (*kubetest.Server, string) {
	t.Helper()
	s := kubetest.New()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Kill() })
	return s, "http://" + s.Address() + "/" + kubetest.Namespace
}

// storeOf returns the store behind an address, with a time of day that the test sets.
func storeOf(t *testing.T, address string) (*store, *time.Time) {
	t.Helper()
	a, namespace, err := parse(address, "", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(a, namespace)
	now := time.Date(2026, 11, 19, 12, 0, 0, 100e6, time.UTC)
	s.clock = func() time.Time { return now }
	return s, &now
}

func host(t *testing.T) engine.Host {
	t.Helper()
	clock, err := engine.SystemClock()
	if err != nil {
		t.Fatal(err)
	}
	return engine.Host{Name: "a", Clock: clock, Lease: 2 * time.Second, Renew: 500 * time.Millisecond, Drift: 0.001, Log: slog.New(slog.DiscardHandler)}
}

// swap exchanges an entry, which must succeed.
func swap(t *testing.T, s *store, old, next register.Entry) register.Entry {
	t.Helper()
	now, ok, err := s.Swap(t.Context(), "g", old, next)
	if err != nil || !ok {
		t.Fatalf("swapped %t (%v)", ok, err)
	}
	return now
}

// renewed is what a renewal writes.
func renewed(e register.Entry) register.Entry {
	e.Beat++
	return e
}

func TestObjectsAreWhatElectorsOfClientGoWrite(t *testing.T) {
	server, address := serve(t)
	s, now := storeOf(t, address)
	empty := swap(t, s, register.Entry{}, register.Entry{TTL: 5 * time.Second, Beat: 1})
	if server.Get("g", "spec.holderIdentity") != Vacant || empty.Holder != "" || empty.Session != "" || empty.Free || empty.TTL != 5*time.Second {
		t.Errorf("the entry in place of an absent one is %+v, its holder %v", empty, server.Get("g", "spec.holderIdentity"))
	}
	claim := swap(t, s, empty, register.Entry{Holder: "a", Session: "S1", TTL: 5 * time.Second, Value: "v"})
	if claim.Token != claim.Beat || claim.Token <= empty.Token || claim.Holder != "a" || claim.Value != "v" {
		t.Errorf("claim %+v after %+v", claim, empty)
	}
	acquired := server.Get("g", "spec.acquireTime")
	*now = now.Add(2 * time.Second)
	held := swap(t, s, claim, renewed(claim))
	if held.Token != claim.Token || held.Beat <= claim.Beat || held.Session != "S1" {
		t.Errorf("renewal %+v of %+v", held, claim)
	}
	want := map[string]any{"spec.holderIdentity": "a_S1", "spec.leaseDurationSeconds": 5.0, "spec.leaseTransitions": 1.0, "spec.acquireTime": acquired, "spec.renewTime": "2026-11-19T12:00:02.100000Z"}
	for field, value := range want {
		if server.Get("g", field) != value {
			t.Errorf("%s is %v, want %v", field, server.Get("g", field), value)
		}
	}
	if _, ok, err := s.Swap(t.Context(), "g", claim, renewed(claim)); ok || err != nil {
		t.Errorf("a renewal of what was there before: swapped %t (%v)", ok, err)
	}
	free := renewed(held)
	free.Free = true
	if freed := swap(t, s, held, free); !freed.Free || freed.Session != "S1" || server.Get("g", "spec.holderIdentity") != "" {
		t.Errorf("released: %+v, holder %v", freed, server.Get("g", "spec.holderIdentity"))
	}
}

// Electors of client-go compare records in which times have whole seconds. A renewal that they do not see would have them take over too early.
func TestElectorsOfClientGoSeeEveryRenewal(t *testing.T) {
	server, address := serve(t)
	s, now := storeOf(t, address)
	e := swap(t, s, register.Entry{}, register.Entry{Holder: "a", Session: "S1", TTL: 5 * time.Second})
	seen := map[string]bool{server.Get("g", "spec.renewTime").(string)[:19]: true}
	last := ""
	for i, step := range []time.Duration{300 * time.Millisecond, 300 * time.Millisecond, -time.Hour, time.Second, 2 * time.Hour, 0, -time.Hour} {
		*now = now.Add(step)
		e = swap(t, s, e, renewed(e))
		second := server.Get("g", "spec.renewTime").(string)[:19]
		if seen[second] || second < last {
			t.Errorf("renewal %d is at %s, as an earlier one, or before it", i, second)
		}
		seen[second], last = true, second
	}
}

func TestWhatElectorsOfClientGoHoldIsRespected(t *testing.T) {
	server, address := serve(t)
	s, _ := storeOf(t, address)
	put := func(text string) {
		t.Helper()
		if err := server.Put("g", text); err != nil {
			t.Fatal(err)
		}
	}
	put(`{"spec": {"holderIdentity": "h_1", "leaseDurationSeconds": 15, "acquireTime": "2026-11-19T12:00:00.000000Z", "renewTime": "2026-11-19T12:00:00.000000Z", "leaseTransitions": 7}}`)
	held, err := s.Read(t.Context(), "g")
	if err != nil || held.Holder != "h_1" || held.Session == "" || held.TTL != 15*time.Second || held.Free || held.Absent() {
		t.Errorf("held by an elector: %+v (%v)", held, err)
	}
	put(`{"spec": {"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 7}}`)
	free, err := s.Read(t.Context(), "g")
	if err != nil || !free.Free {
		t.Errorf("released by an elector: %+v (%v)", free, err)
	}
	claim := swap(t, s, free, register.Entry{Holder: "a", Session: "S1", TTL: 5 * time.Second})
	if server.Get("g", "spec.leaseTransitions") != 8.0 || claim.Token <= free.Beat {
		t.Errorf("claim %+v, leaseTransitions %v, want 8", claim, server.Get("g", "spec.leaseTransitions"))
	}
	// An elector that takes over leaves the annotation as it is.
	note := server.Get("g", "metadata.annotations")
	b, _ := json.Marshal(note)
	put(`{"metadata": {"annotations": ` + string(b) + `}, "spec": {"holderIdentity": "h_2", "leaseDurationSeconds": 15}}`)
	if other, err := s.Read(t.Context(), "g"); err != nil || other.Holder != "h_2" || other.Session == "S1" || other.Value != "" {
		t.Errorf("taken over by an elector: %+v (%v)", other, err)
	}
}

func TestObjectsThatAreNotOfElectorsAreRefused(t *testing.T) {
	server, address := serve(t)
	s, _ := storeOf(t, address)
	for text, want := range map[string]string{
		`{"spec": {"strategy": "OldestEmulationVersion"}}`:                                                                                              "coordinated election",
		`{"metadata": {"ownerReferences": [{"kind": "Node"}]}, "spec": {"holderIdentity": "n", "leaseDurationSeconds": 40}}`:                            "heartbeat of a node",
		`{"metadata": {"labels": {"apiserver.kubernetes.io/identity": "kube-apiserver"}}, "spec": {"holderIdentity": "n", "leaseDurationSeconds": 40}}`: "identity of an API server",
		`{"spec": {"holderIdentity": "n"}}`:                                       "no leaseDurationSeconds",
		`{"metadata": {"annotations": {"regent.dev/lease": "{\"version\": 7}"}}}`: "version 1",
	} {
		if err := server.Put("g", text); err != nil {
			t.Fatal(err)
		}
		if e, err := s.Read(t.Context(), "g"); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "default/g") {
			t.Errorf("%s: %+v, error %v, want %q", text, e, err, want)
		}
		before := server.Writes()
		if _, ok, err := s.Swap(t.Context(), "g", register.Entry{Token: 1, Beat: 1}, register.Entry{Holder: "a", Session: "S", TTL: time.Second}); ok || err == nil || server.Writes() != before {
			t.Errorf("%s: claimed %t (%v)", text, ok, err)
		}
	}
}

func TestServersThatCannotBeUsedAreRefused(t *testing.T) {
	server, address := serve(t)
	opens := func(want string) {
		t.Helper()
		e, done, err := Open(address)
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		if _, err := e.Open(t.Context(), host(t)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	server.Forbid("create", "patch")
	opens("may not create, patch leases in the namespace default: it needs a Role")
	server.Forbid()
	server.SetMinor("13")
	opens(`version "v1.13.0": must be Kubernetes 1.14 or later`)
	server.SetMinor("35+")
	server.SetToken("geheim")
	opens("does not take the token")
	server.SetToken("")
	address = strings.Replace(address, "/default", "/elsewhere", 1)
	opens("namespace")
	address = strings.Replace(address, "/elsewhere", "/kube-node-lease", 1)
	opens("heartbeats of nodes")
	address = strings.Replace(address, "/kube-node-lease", "/default", 1)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	opens("connection refused")
	if server.Writes() != 0 {
		t.Errorf("%d objects were written", server.Writes())
	}
}

func TestForbiddenRequestsNameTheVerbAndTheRole(t *testing.T) {
	server, address := serve(t)
	s, _ := storeOf(t, address)
	e := swap(t, s, register.Entry{}, register.Entry{Holder: "a", Session: "S1", TTL: 5 * time.Second})
	server.Forbid("patch")
	if _, ok, err := s.Swap(t.Context(), "g", e, renewed(e)); ok || err == nil || !strings.Contains(err.Error(), "forbidden to patch the lease g in the namespace default") || !strings.Contains(err.Error(), "verbs: [get, create, patch]") {
		t.Errorf("%v", err)
	}
	if role := Role("shop", "agents"); !strings.Contains(role, "verbs: [get, create, patch]") || !strings.Contains(role, "namespace: shop") || !strings.Contains(role, "name: agents") {
		t.Error(role)
	}
}

func TestLeasesThatDoNotFitAreRefused(t *testing.T) {
	_, address := serve(t)
	e, done, err := Open(address)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	for lease, want := range map[time.Duration]string{time.Second: "the shortest is 2s", 2500 * time.Millisecond: "multiple of 1s"} {
		h := host(t)
		h.Lease = lease
		if _, err := e.Open(t.Context(), h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("lease %v: %v, want %q", lease, err, want)
		}
	}
}

func TestTokensAreOfferedFromVersion135On(t *testing.T) {
	server, address := serve(t)
	for minor, none := range map[string]bool{"34": true, "35": false, "36+": false} {
		server.SetMinor(minor)
		s, _ := storeOf(t, address)
		if !s.Limits().NoFence {
			t.Error("tokens are offered of a server of unknown version")
		}
		if err := s.Check(t.Context()); err != nil || s.Limits().NoFence != none {
			t.Errorf("1.%s: no tokens %t, want %t (%v)", minor, s.Limits().NoFence, none, err)
		}
	}
}

func TestTokensGrowOverDeletedObjectsAndFloors(t *testing.T) {
	server, address := serve(t)
	s, _ := storeOf(t, address)
	lead := func() uint64 {
		t.Helper()
		server.Delete("g")
		e := swap(t, s, register.Entry{}, register.Entry{TTL: 5 * time.Second, Beat: 1})
		return swap(t, s, e, register.Entry{Holder: "a", Session: "S", TTL: 5 * time.Second}).Token
	}
	first := lead()
	if again := lead(); first == 0 || again <= first {
		t.Errorf("token %d after %d and a deleted object", again, first)
	}
	if err := s.Raise(t.Context(), "", 5000); err != nil {
		t.Fatal(err)
	}
	if err := s.Raise(t.Context(), "", 10); err != nil {
		t.Fatal(err)
	}
	second := lead()
	if err := s.Raise(t.Context(), "", 9000); err != nil {
		t.Fatal(err)
	}
	if third := lead(); second <= 5000 || third <= 9000 || third <= second {
		t.Errorf("tokens %d above 5000, %d above 9000", second, third)
	}
	if err := s.Raise(t.Context(), "", 1<<60); err == nil {
		t.Error("a floor that leaves no room for tokens was set")
	}
}

func TestTokensOfRequestsAreReadAgainAndNeverShown(t *testing.T) {
	server, _ := serve(t)
	secure := httptest.NewTLSServer(server)
	defer secure.Close()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})))
	write("token", "geheim-1\n")
	write("namespace", kubetest.Namespace)
	host, port, _ := net.SplitHostPort(secure.Listener.Addr().String())
	env := map[string]string{"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
	a, namespace, err := parse(InCluster, dir, func(k string) string { return env[k] })
	if err != nil || namespace != kubetest.Namespace {
		t.Fatalf("namespace %q (%v)", namespace, err)
	}
	s := newStore(a, namespace)
	server.SetToken("geheim-1")
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.SetToken("geheim-2")
	if err := s.Check(t.Context()); err == nil || strings.Contains(err.Error(), "geheim") || strings.Contains(s.Where(), "geheim") {
		t.Errorf("an old token: %v", err)
	}
	write("token", "geheim-2\n")
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("a new token: %v", err)
	}
}

func TestAddressesThatCannotBeRightAreRefused(t *testing.T) {
	for _, address := range []string{"", "k8s:6443", "https://k8s:6443", "https://u:geheim@k8s:6443/ns", "https://k8s:6443/ns?token=geheim", "http://k8s:8001/ns", "https://k8s:6443/Ns", "https://k8s:6443/a/b",
		"https://k8s:6443/ns?token_file=/nothing", "https://k8s:6443/ns?cacert=/nothing", "https://k8s:6443/ns?cert=/nothing&key=/nothing", InCluster, InCluster + "/ns"} {
		if _, _, err := parse(address, "/nothing", func(string) string { return "" }); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %v", address, err)
		}
	}
	for address, namespace := range map[string]string{"https://k8s:6443/ns": "ns", "http://127.0.0.1:8001/ns": "ns", "http://localhost:8001/ns/": "ns"} {
		if _, got, err := parse(address, "", func(string) string { return "" }); err != nil || got != namespace {
			t.Errorf("%q: namespace %q (%v)", address, got, err)
		}
	}
}

func TestGroupsHaveObjectsWithNames(t *testing.T) {
	seen := make(map[string]string)
	for _, group := range []string{"shop", "a.b-c", "Shop", "größe", "a b", "-a", "regent-floor", "regent-group-0", strings.Repeat("x", 300)} {
		name := objectName(group)
		if !subdomain.MatchString(name) || len(name) > 253 || name == floorName || seen[name] != "" {
			t.Errorf("%q has the object %q, as %q has", group, name, seen[name])
		}
		seen[name] = group
	}
	if objectName("shop") != "shop" || objectName("a.b-c") != "a.b-c" {
		t.Error("names that objects can have are changed")
	}
}

// A holder whose lease object is deleted, and made by another, does not lead on.
func TestAnElectionRunsOnTheSeam(t *testing.T) {
	server, address := serve(t)
	e, done, err := Open(address)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := e.Open(ctx, host(t))
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.Campaign(ctx, "Shop", "v")
	if err != nil {
		t.Fatal(err)
	}
	name := objectName("Shop")
	server.Delete(name)
	select {
	case <-first.Lost():
	case <-ctx.Done():
		t.Fatal("a leadership whose object was deleted is not lost")
	}
	first.Release()
	second, err := s.Campaign(ctx, "Shop", "v")
	if err != nil || second.Token() <= first.Token() {
		t.Errorf("token %d after %d (%v)", second.Token(), first.Token(), err)
	}
	second.Release()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if server.Get(name, "spec.holderIdentity") != "" {
		t.Errorf("after the release the holder is %v", server.Get(name, "spec.holderIdentity"))
	}
}
