package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/engine/register"
)

// Open returns the engine on a cluster, by an address such as "https://user@e1:2379,e2:2379,e3:2379/prefix?cacert=FILE&cert=FILE&key=FILE". The
// prefix is that of the keys; "regent" if it is left out. The password of a user is in the variable ETCD_PASSWORD, or in a file that password_file names. It does not connect
// yet. The function closes the client.
func Open(address string) (e engine.Engine, closeClient func() error, err error) {
	c, prefix, err := parse(address)
	if err != nil {
		return nil, nil, fmt.Errorf("engine etcd: %w", err)
	}
	c.Logger = zap.NewNop() // errors come back from calls
	client, err := clientv3.New(c)
	if err != nil {
		return nil, nil, fmt.Errorf("engine etcd: %w", err)
	}
	return New(client, prefix), client.Close, nil
}

// New returns the engine on a cluster whose client the program has made. The keys are below the prefix.
func New(client *clientv3.Client, prefix string) engine.Engine {
	return register.New(&store{client: client, prefix: strings.Trim(prefix, "/") + "/"})
}

const (
	dialTimeout = 5 * time.Second
	// aliveEvery is how often a silent connection is looked at, and aliveWithin how long it may take.
	aliveEvery, aliveWithin = 2 * time.Second, 2 * time.Second
)

// parse reads an address. Its errors have no password, because there is none in it.
func parse(address string) (c clientv3.Config, prefix string, err error) {
	hosts, one := split(address)
	u, err := url.Parse(one)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return c, "", errors.New("address: must be http://HOST:PORT,... or https://HOST:PORT,...")
	}
	if _, has := u.User.Password(); has {
		return c, "", errors.New("address: has a password (put it into a file, and name that with ?password_file=)")
	}
	q := u.Query()
	c = clientv3.Config{DialTimeout: dialTimeout, DialKeepAliveTime: aliveEvery, DialKeepAliveTimeout: aliveWithin, Username: u.User.Username()}
	for _, host := range hosts {
		c.Endpoints = append(c.Endpoints, u.Scheme+"://"+host)
	}
	if c.Username != "" {
		c.Password = os.Getenv("ETCD_PASSWORD")
		if file := q.Get("password_file"); file != "" {
			b, err := os.ReadFile(file)
			if err != nil {
				return c, "", err
			}
			c.Password = strings.TrimSpace(string(b))
		}
	}
	if u.Scheme == "https" {
		c.TLS, err = secure(q)
		if err != nil {
			return c, "", err
		}
	}
	prefix = strings.Trim(u.Path, "/")
	if prefix == "" {
		prefix = "regent"
	}
	return c, prefix, nil
}

// split returns the hosts of an address, and the address with the first of them only, which is a URL.
func split(address string) (hosts []string, one string) {
	scheme, rest, _ := strings.Cut(address, "://")
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	start := strings.LastIndex(rest[:end], "@") + 1
	hosts = strings.Split(rest[start:end], ",")
	return hosts, scheme + "://" + rest[:start] + hosts[0] + rest[end:]
}

// secure reads the certificates that an address names.
func secure(q url.Values) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if file := q.Get("cacert"); file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(b) {
			return nil, fmt.Errorf("cacert: %s has no certificate", file)
		}
	}
	if file := q.Get("cert"); file != "" {
		pair, err := tls.LoadX509KeyPair(file, q.Get("key"))
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// A store keeps the entries in keys.
type store struct {
	client *clientv3.Client
	prefix string
}

// version is that of the values.
const version = 1

// A value is what a key holds. The beat of an entry is the revision of its last change.
type value struct {
	Version int    `json:"version"`
	Holder  string `json:"holder"`
	Session string `json:"session"`
	// Token is zero in a claim: then it is the revision of that, and the floor.
	Token uint64 `json:"token,omitempty"`
	Floor uint64 `json:"floor,omitempty"`
	TTL   int64  `json:"ttl_ns"`
	Value string `json:"value,omitempty"`
	Free  bool   `json:"free,omitempty"`
}

func (s *store) Name() string { return "etcd" }

func (s *store) Where() string {
	hosts := make([]string, 0, len(s.client.Endpoints()))
	for _, e := range s.client.Endpoints() {
		_, host, _ := strings.Cut(e, "://")
		hosts = append(hosts, host)
	}
	return strings.Join(hosts, ",") + "/" + strings.TrimSuffix(s.prefix, "/")
}

func (s *store) Limits() engine.Limits {
	return engine.Limits{Shortest: 500 * time.Millisecond,
		Loss: "a restore from a backup begins at an older revision, so that a token may repeat (restore with --bump-revision)"}
}

func (s *store) key(group string) string { return s.prefix + "groups/" + group }
func (s *store) floorKey() string        { return s.prefix + "floor" }

// oldest is the oldest version of etcd that the engine takes.
var oldest = [2]int{3, 4}

func (s *store) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*dialTimeout)
	defer cancel()
	var last error
	for _, endpoint := range s.client.Endpoints() {
		status, err := s.client.Status(ctx, endpoint)
		if err != nil {
			last = err
			continue
		}
		var v [2]int
		if _, err := fmt.Sscanf(status.Version, "%d.%d", &v[0], &v[1]); err != nil || v[0] < oldest[0] || v[0] == oldest[0] && v[1] < oldest[1] {
			return fmt.Errorf("%s: version %q: must be %d.%d or later", endpoint, status.Version, oldest[0], oldest[1])
		}
		return s.checkRights(ctx)
	}
	return fmt.Errorf("%s: no server answers: %w", s.Where(), last)
}

// checkRights reads and writes below the prefix, and refuses values of another version.
func (s *store) checkRights(ctx context.Context) error {
	first, err := s.client.Get(ctx, s.prefix+"groups/", clientv3.WithPrefix(), clientv3.WithLimit(1))
	if err != nil {
		return fmt.Errorf("%s: reading below %s: %w", s.Where(), s.prefix, err)
	}
	for _, kv := range first.Kvs {
		if _, err := decode(kv.Value, kv.ModRevision); err != nil {
			return fmt.Errorf("%s: key %s: %w", s.Where(), kv.Key, err)
		}
	}
	// It changes nothing: no revision is below zero.
	if _, err := s.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(s.floorKey()), "<", 0)).Then(clientv3.OpPut(s.floorKey(), "0")).Commit(); err != nil {
		return fmt.Errorf("%s: writing below %s: %w", s.Where(), s.prefix, err)
	}
	return nil
}

// decode reads a value that was written in a revision.
func decode(b []byte, revision int64) (register.Entry, error) {
	var v value
	if err := json.Unmarshal(b, &v); err != nil || v.Version != version {
		return register.Entry{}, fmt.Errorf("is not of version %d of this engine (another program uses the prefix, or agents of another version do)", version)
	}
	token := v.Token
	if token == 0 {
		token = uint64(revision) + v.Floor
	}
	return register.Entry{Holder: v.Holder, Session: v.Session, Token: token, Beat: uint64(revision), TTL: time.Duration(v.TTL), Value: v.Value, Free: v.Free}, nil
}

func (s *store) Read(ctx context.Context, group string) (register.Entry, error) {
	r, err := s.client.Get(ctx, s.key(group))
	if err != nil || len(r.Kvs) == 0 {
		return register.Entry{}, err
	}
	return decode(r.Kvs[0].Value, r.Kvs[0].ModRevision)
}

func (s *store) Swap(ctx context.Context, group string, old, next register.Entry) (now register.Entry, swapped bool, err error) {
	key := s.key(group)
	v := value{Version: version, Holder: next.Holder, Session: next.Session, Token: next.Token, TTL: int64(next.TTL), Value: next.Value, Free: next.Free}
	same := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(key), "=", int64(old.Beat))} // zero: there is none
	if next.Token == 0 {
		floor, revision, err := s.floor(ctx)
		if err != nil {
			return now, false, err
		}
		v.Floor = floor
		same = append(same, clientv3.Compare(clientv3.ModRevision(s.floorKey()), "=", revision))
	}
	b, err := json.Marshal(v)
	if err != nil {
		return now, false, err
	}
	r, err := s.client.Txn(ctx).If(same...).Then(clientv3.OpPut(key, string(b))).Else(clientv3.OpGet(key)).Commit()
	if err != nil {
		return now, false, err
	}
	if r.Succeeded {
		now, err = decode(b, r.Header.Revision)
		return now, err == nil, err
	}
	if found := r.Responses[0].GetResponseRange().Kvs; len(found) > 0 {
		now, err = decode(found[0].Value, found[0].ModRevision)
	}
	return now, false, err
}

// floor returns what is added to revisions, and in which revision it was set; zero: never.
func (s *store) floor(ctx context.Context) (above uint64, revision int64, err error) {
	r, err := s.client.Get(ctx, s.floorKey())
	if err != nil || len(r.Kvs) == 0 {
		return 0, 0, err
	}
	above, err = strconv.ParseUint(string(r.Kvs[0].Value), 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("key %s: %w", s.floorKey(), err)
	}
	return above, r.Kvs[0].ModRevision, nil
}

// maxFloor keeps the sum with a revision a number.
const maxFloor = 1 << 62

// Raise sets the floor, for all groups.
func (s *store) Raise(ctx context.Context, _ string, above uint64) error {
	if above > maxFloor {
		return fmt.Errorf("engine etcd: token %d: too large", above)
	}
	if err := s.Check(ctx); err != nil {
		return fmt.Errorf("engine etcd: %w", err)
	}
	for {
		floor, revision, err := s.floor(ctx)
		if err != nil || floor >= above {
			return err
		}
		r, err := s.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(s.floorKey()), "=", revision)).Then(clientv3.OpPut(s.floorKey(), strconv.FormatUint(above, 10))).Commit()
		if err != nil || r.Succeeded {
			return err
		}
	}
}

// Hints watches the keys. Renewals are no news.
func (s *store) Hints(ctx context.Context, f func(group string)) error {
	prefix := s.prefix + "groups/"
	for r := range s.client.Watch(clientv3.WithRequireLeader(ctx), prefix, clientv3.WithPrefix()) {
		if err := r.Err(); err != nil {
			return err
		}
		for _, e := range r.Events {
			if now, err := decode(e.Kv.Value, e.Kv.ModRevision); e.IsModify() && err == nil && !now.Free {
				continue
			}
			f(strings.TrimPrefix(string(e.Kv.Key), prefix))
		}
	}
	return ctx.Err()
}
