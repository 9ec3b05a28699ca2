package etcd_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/agent/core/coretest"
	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/engine/enginetest"
	"github.com/regentproject/regent/engine/register"
	"github.com/regentproject/regent/facades/etcd"
	"github.com/regentproject/regent/facades/etcd/internal/belief"
	"github.com/regentproject/regent/why"
)

// keys are of the agents.
const keys = "lease: 5s\nleases: [{groups: [short], lease: 3s}, {groups: [long], lease: 20s}]\ngroups: [{name: here, mode: local}]\n"

// serve returns a joined agent and where its façade listens. more changes the rights.
func serve(t *testing.T, more func(*config.File)) (*core.Agent, string) {
	t.Helper()
	return serveTLS(t, nil, more)
}

func serveTLS(t *testing.T, conf *tls.Config, more func(*config.File)) (*core.Agent, string) {
	t.Helper()
	a := coretest.Joined(t, keys)
	return a, facade(t, a, conf, more)
}

// facade returns where a façade of an agent listens.
func facade(t *testing.T, a *core.Agent, conf *tls.Config, more func(*config.File)) string {
	t.Helper()
	file := *a.Config()
	if more != nil {
		more(&file)
	}
	rules, err := access.NewRules(&file)
	if err != nil {
		t.Fatal(err)
	}
	gate := access.NewGate(a.Log)
	gate.SetAccess(rules)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := etcd.New(a, gate)
	var all sync.WaitGroup
	all.Go(func() { _ = s.Serve(l, conf) })
	t.Cleanup(func() { s.Close(); all.Wait() })
	return l.Addr().String()
}

func dial(t *testing.T, address string, more func(*clientv3.Config)) *clientv3.Client {
	t.Helper()
	conf := clientv3.Config{Endpoints: []string{address}, DialTimeout: 30 * time.Second, Logger: zap.NewNop()}
	if more != nil {
		more(&conf)
	}
	c, err := clientv3.New(conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func newSession(t *testing.T, c *clientv3.Client, options ...concurrency.SessionOption) *concurrency.Session {
	t.Helper()
	s, err := concurrency.NewSession(c, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// soon bounds a call that must not wait for long.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnElection(t *testing.T) {
	t.Parallel()
	_, address := serve(t, nil)
	ctx := soon(t)
	first, second := dial(t, address, nil), dial(t, address, nil)
	one, two := newSession(t, first), newSession(t, second)
	a, b := concurrency.NewElection(one, "shop"), concurrency.NewElection(two, "shop")
	if _, err := a.Leader(ctx); err != concurrency.ErrElectionNoLeader {
		t.Errorf("before: %v", err)
	}
	seen := b.Observe(ctx)
	must(t, a.Campaign(ctx, "x"))
	if a.Rev() != 1 {
		t.Errorf("Rev() is %d, the first token is 1", a.Rev())
	}
	expect := func(value string, e *concurrency.Election) {
		t.Helper()
		r := <-seen
		if string(r.Kvs[0].Value) != value || string(r.Kvs[0].Key) != e.Key() || r.Kvs[0].CreateRevision != e.Rev() {
			t.Errorf("observed %v, want %s of %s", r.Kvs[0], value, e.Key())
		}
	}
	expect("x", a)
	led := make(chan error, 1)
	go func() { led <- b.Campaign(ctx, "z") }()
	must(t, a.Proclaim(ctx, "y"))
	expect("y", a)
	r, err := b.Leader(ctx)
	must(t, err)
	if string(r.Kvs[0].Value) != "y" || string(r.Kvs[0].Key) != a.Key() {
		t.Errorf("the leader is %v", r.Kvs[0])
	}
	select {
	case err := <-led:
		t.Fatalf("two lead: %v", err)
	default:
	}
	again := concurrency.NewElection(one, "shop") // a leader that campaigns again leads at once
	must(t, again.Campaign(ctx, "y"))
	must(t, a.Resign(ctx))
	must(t, <-led)
	expect("z", b)
	if b.Rev() <= a.Rev() || again.Rev() != 1 {
		t.Errorf("Rev() is %d after %d", b.Rev(), again.Rev())
	}
	if err := again.Proclaim(ctx, "w"); err != concurrency.ErrElectionNotLeader {
		t.Errorf("after it resigned: %v", err)
	}
	must(t, two.Close()) // gives the group up, too
	cluster.Eventually(t, "the group of the closed session has no leader", func() bool {
		_, err := a.Leader(ctx)
		return err == concurrency.ErrElectionNoLeader
	})
}

// A cancelled campaign leaves nothing, and the session goes on.
func TestACancelledCampaign(t *testing.T) {
	t.Parallel()
	agent, address := serve(t, nil)
	c := dial(t, address, nil)
	a, b := newSession(t, c), newSession(t, c)
	holder := concurrency.NewElection(a, "g")
	must(t, holder.Campaign(soon(t), ""))
	ctx, cancel := context.WithCancel(t.Context())
	waiter := concurrency.NewElection(b, "g")
	failed := make(chan error, 1)
	go func() { failed <- waiter.Campaign(ctx, "") }()
	eventually(t, "both are candidates", func() bool { return len(agent.Candidates()) == 2 })
	cancel()
	if err := <-failed; err == nil {
		t.Fatal("elected")
	}
	eventually(t, "one candidate", func() bool { return len(agent.Candidates()) == 1 })
	must(t, holder.Resign(soon(t)))
	must(t, waiter.Campaign(soon(t), ""))
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) { // wall clock: real clients
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// TTLs are granted as the leases allow, and groups are refused whose leases allow too little.
func TestTTLsOfGroups(t *testing.T) {
	t.Parallel()
	_, address := serve(t, nil)
	c, ctx := dial(t, address, nil), soon(t)
	r, err := c.Grant(ctx, 60)
	must(t, err)
	if r.TTL != 17 { // of the group long: 20 s, less 20 ms, less 0.5 s, less 1.5 s
		t.Errorf("granted %d s", r.TTL)
	}
	if r, err := c.Grant(ctx, 7); err != nil || r.TTL != 7 {
		t.Errorf("asked for 7: %v, %v", r, err)
	}
	s := newSession(t, c)
	e := concurrency.NewElection(s, "g")
	must(t, e.Campaign(ctx, ""))
	if r, err := c.KeepAliveOnce(ctx, s.Lease()); err != nil || r.TTL != 3 { // 5 s, less 20 ms, less 100 ms, less 1.5 s
		t.Errorf("kept alive: %v, %v", r, err)
	}
	err = concurrency.NewElection(newSession(t, c), "short").Campaign(ctx, "")
	for _, part := range []string{`"short"`, "leases of 3s", "1.43s", "need 2s", "3.57s"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v: does not say %s", err, part)
		}
	}
}

// giveUp has the leader of the group give it up.
func giveUp(ctx context.Context, a *core.Agent) error {
	k, err := a.LeaderOfGroup("g", 0, "")
	if err != nil {
		return err
	}
	return a.Order(ctx, k, core.NewOrder(regent.Cause{Why: why.Resigned, Member: a.Name}, ""))
}

// The agent wants a group back: the client learns at once that its session is over, and the group is free when it cannot believe otherwise.
func TestAnOrderEndsTheSession(t *testing.T) {
	t.Parallel()
	agent, address := serve(t, nil)
	ctx := soon(t)
	s := newSession(t, dial(t, address, nil))
	must(t, concurrency.NewElection(s, "g").Campaign(ctx, ""))
	begin := time.Now()
	given := make(chan error, 1)
	go func() { given <- giveUp(ctx, agent) }()
	select {
	case <-s.Done():
	case err := <-given:
		t.Fatalf("the group was given up before the client learned: %v", err)
	}
	told := time.Since(begin)
	must(t, <-given)
	if free := time.Since(begin); free < belief.Slack || told > free {
		t.Errorf("told after %v, free after %v: a client that did not hear may believe for the rest of its TTL and %v", told, free, belief.Slack)
	}

	// A client that says that it has stopped is not waited for.
	s = newSession(t, dial(t, address, nil))
	e := concurrency.NewElection(s, "g")
	must(t, e.Campaign(ctx, ""))
	go func() { given <- giveUp(ctx, agent) }()
	<-s.Done()
	begin = time.Now()
	must(t, e.Resign(ctx))
	must(t, <-given)
	if free := time.Since(begin); free >= belief.Shortest {
		t.Errorf("free %v after the client resigned", free)
	}
}

func TestWhatIsNotServed(t *testing.T) {
	t.Parallel()
	_, address := serve(t, nil)
	c, ctx := dial(t, address, nil), soon(t)
	s := newSession(t, c)
	unserved := func(what, hint string, err error) {
		t.Helper()
		if status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := c.Put(ctx, "k", "v")
	unserved("put", "keeps no data", err)
	_, err = c.Get(ctx, "k")
	unserved("get", "keeps no data", err)
	_, err = c.Delete(ctx, "k")
	unserved("delete", "keeps no data", err)
	_, err = c.MemberList(ctx)
	unserved("members", "keeps no data", err)
	_, err = c.Status(ctx, address)
	unserved("status", "keeps no data", err)
	_, err = c.TimeToLive(ctx, s.Lease())
	unserved("time to live", "keeps no data", err)
	_, err = c.Txn(ctx).Then(clientv3.OpPut("a", "b")).Commit()
	unserved("transaction", "keeps no data", err)
	unserved("lock", "regent run GROUP -- COMMAND", concurrency.NewMutex(s, "m").Lock(ctx))
	refused := <-c.Watch(ctx, "k")
	if err := refused.Err(); err == nil || !strings.Contains(err.Error(), "keeps no data") {
		t.Errorf("watch: %v", err)
	}
	if err := concurrency.NewElection(s, "g").Campaign(ctx, strings.Repeat("x", 257)); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "256") {
		t.Errorf("a long value: %v", err)
	}
	if err := concurrency.NewElection(s, "here").Campaign(ctx, ""); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "local") {
		t.Errorf("a local group: %v", err)
	}
	must(t, s.Close())
	if err := concurrency.NewElection(s, "g").Campaign(ctx, ""); err == nil || !strings.Contains(err.Error(), "lease not found") {
		t.Errorf("without a session: %v", err)
	}
}

// Clients have the roles and rights that they have over HTTP.
func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()

	digest := func(token string) string {
		sum := sha256.Sum256([]byte(token))
		return hex.EncodeToString(sum[:])
	}
	_, address := serve(t, func(f *config.File) {
		f.HTTP.Anonymous = "none"
		f.HTTP.Tokens = []config.Token{{Name: "w", Role: "write", SHA256: digest("secret")}, {Name: "r", Role: "read", SHA256: digest("look")}}
		f.Rights = []config.Right{{Groups: []string{"mine"}, Lead: []string{"token:other"}, Read: []string{"token:other"}}}
	})
	ctx := soon(t)
	as := func(name, token string) *clientv3.Client {
		return dial(t, address, func(c *clientv3.Config) { c.Username, c.Password = name, token })
	}
	if _, err := dial(t, address, nil).Grant(ctx, 2); status.Code(err) != codes.Unauthenticated {
		t.Errorf("without a token: %v", err)
	}
	for _, wrong := range [][2]string{{"w", "look"}, {"w", "wrong"}, {"other", "secret"}} {
		_, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, DialTimeout: 30 * time.Second, Logger: zap.NewNop(), Username: wrong[0], Password: wrong[1]})
		if err == nil || !strings.Contains(err.Error(), "authentication failed") {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	reader, writer := as("r", "look"), as("w", "secret")
	if err := concurrency.NewElection(newSession(t, reader), "g").Campaign(ctx, ""); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a reader leads: %v", err)
	}
	s := newSession(t, writer)
	e := concurrency.NewElection(s, "g")
	must(t, e.Campaign(ctx, "v"))
	if r, err := concurrency.NewElection(newSession(t, reader), "g").Leader(ctx); err != nil || string(r.Kvs[0].Value) != "v" {
		t.Errorf("a reader: %v, %v", r, err)
	}
	if _, err := reader.Revoke(ctx, s.Lease()); err == nil || !strings.Contains(err.Error(), "lease not found") {
		t.Errorf("the session of another is revoked: %v", err)
	}
	if err := concurrency.NewElection(s, "mine").Campaign(ctx, ""); status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "token w may not lead it") {
		t.Errorf("a group of others: %v", err)
	}
	if _, err := concurrency.NewElection(s, "mine").Leader(ctx); status.Code(err) != codes.PermissionDenied {
		t.Errorf("reading a group of others: %v", err)
	}
	// Guesses are bounded as over HTTP: the one above and four more, and then also the right token is refused, on this address.
	authenticate := func(token string) codes.Code {
		_, err := pb.NewAuthClient(writer.ActiveConnection()).Authenticate(ctx, &pb.AuthenticateRequest{Name: "w", Password: token})
		return status.Code(err)
	}
	for range 4 {
		if code := authenticate("guess"); code != codes.InvalidArgument {
			t.Errorf("a guess: %v", code)
		}
	}
	if code := authenticate("secret"); code != codes.ResourceExhausted {
		t.Errorf("after five guesses: %v", code)
	}
}

// An unfenced store has tokens that cannot be compared.
type unfenced struct{ *enginetest.Memory }

func (unfenced) Limits() engine.Limits { return engine.Limits{NoFence: true} }

func TestOnAnEngineWithoutTokensNobodyCampaigns(t *testing.T) {
	t.Parallel()
	a := coretest.Idle(t, keys)
	ctx, cancel := context.WithCancel(t.Context())
	var tasks sync.WaitGroup
	t.Cleanup(func() { cancel(); tasks.Wait() })
	a.Start(ctx, &tasks)
	on := core.Elector{Join: func(ctx context.Context, c regent.Config) (*regent.Member, error) {
		return regent.On(ctx, register.New(unfenced{new(enginetest.Memory)}), regent.Config{Name: c.Name, Logger: c.Logger, OnChange: c.OnChange, NoRealtime: true})
	}}
	must(t, a.JoinBy(t.Context(), regent.Config{Name: "a"}, on, func(func(regent.Config) error) {}))
	t.Cleanup(func() { _ = a.Leave(func(context.Context) {}) })
	err := concurrency.NewElection(newSession(t, dial(t, facade(t, a, nil, nil), nil)), "shop").Campaign(soon(t), "x")
	if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "offers no tokens") {
		t.Errorf("%v", err)
	}
	if a.Leader("shop") != nil {
		t.Error("it leads")
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	address := facade(t, coretest.Joined(t, keys+"limits: {per_source: 3, streams: 1}\n"), nil, nil)
	c, ctx := dial(t, address, nil), soon(t)
	for range 3 {
		_, err := c.Grant(ctx, 1)
		must(t, err)
	}
	if _, err := c.Grant(ctx, 1); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "limits.per_source") {
		t.Errorf("a fourth session: %v", err)
	}
	eventually(t, "sessions that are not kept alive end", func() bool { _, err := c.Grant(ctx, 1); return err == nil })
	c.Watch(ctx, "g/", clientv3.WithPrefix())
	eventually(t, "a second watch is refused", func() bool {
		one, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		r, ok := <-c.Watch(one, "g/", clientv3.WithPrefix())
		return ok && r.Err() != nil && strings.Contains(r.Err().Error(), "limits.streams")
	})
}

// A lease of the default length, with the constants of a profile that has it, allows what a group needs.
func TestTheDefaultLeaseAllowsATTL(t *testing.T) {
	for _, p := range config.Profiles {
		c := p.Programs()
		if c.Lease != config.DefaultLease {
			if p.Name != "fast" {
				t.Errorf("%s: programs have leases of %v", p.Name, c.Lease)
			}
			continue
		}
		if c.Guard+c.Renew > belief.Slack || belief.Granted(time.Minute, belief.Allowed(c.Lease, c.Guard, c.Renew)) != belief.Shortest {
			t.Errorf("%s: guard %v and renewal %v leave a TTL of %v", p.Name, c.Guard, c.Renew, belief.Allowed(c.Lease, c.Guard, c.Renew))
		}
	}
}
