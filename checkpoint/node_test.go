package checkpoint

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/regentproject/regent/checkpoint/core"
	"github.com/regentproject/regent/view"
)

// A fake is a membership that yields what a test sends.
type fake struct {
	views     chan view.View
	recovered chan view.View
}

func (f *fake) Views(ctx context.Context) iter.Seq[view.View] {
	return func(yield func(view.View) bool) {
		for {
			select {
			case v := <-f.views:
				if !yield(v) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func (f *fake) Recovered(_ context.Context, v view.View) error {
	f.recovered <- v
	return nil
}

// A trio is three nodes on this host, of which two shares give a state back.
type trio struct {
	t       testing.TB
	config  Config
	members map[string]*fake
	stop    map[string]func()
	mu      sync.Mutex
	events  []Event
	more    chan struct{}
}

func openTrio(t *testing.T) *trio { return openNodes(t, func(*Config) {}) }

func openNodes(t testing.TB, change func(*Config)) *trio {
	t.Helper()
	r := &trio{t: t, members: make(map[string]*fake), stop: make(map[string]func()), more: make(chan struct{}, 1)}
	dir := t.TempDir()
	handlers := make(map[string]*http.Handler)
	for _, name := range []string{"a", "b", "c"} {
		h := new(http.Handler)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { (*h).ServeHTTP(w, q) }))
		t.Cleanup(s.Close)
		handlers[name] = h
		r.config.Council = append(r.config.Council, Peer{name, strings.TrimPrefix(s.URL, "http://")})
	}
	r.config.Data, r.config.Secret, r.config.Keys, r.config.Every, r.config.Last = 2, []byte("secret"), []string{"x", "y", "z"}, 4, 40
	r.config.Begin = func(string) ([]byte, error) { return make([]byte, 8), nil }
	r.config.Advance = func(_ context.Context, _ string, step uint64, state []byte) ([]byte, error) {
		return binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(state)+step), nil
	}
	r.config.OnEvent = func(e Event) {
		r.mu.Lock()
		r.events = append(r.events, e)
		r.mu.Unlock()
		select {
		case r.more <- struct{}{}:
		default:
		}
	}
	change(&r.config)
	for name, h := range handlers {
		c := r.config
		c.Name, c.Dir, c.Founding = name, filepath.Join(dir, name), true
		n, err := Open(c)
		if err != nil {
			t.Fatal(err)
		}
		*h = n
		r.members[name] = &fake{make(chan view.View, 4), make(chan view.View, 4)}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = n.Run(ctx, r.members[name]) })
		r.stop[name] = func() {
			cancel()
			running.Wait()
		}
		t.Cleanup(r.stop[name])
	}
	return r
}

// agree shows all members of a view that view.
func (r *trio) agree(number uint64, members ...string) {
	for _, m := range members {
		r.members[m].views <- view.View{Group: "g", Mode: view.Consistent, Token: 1, Leader: members[0],
			Agreement: &view.Agreement{Number: number, Members: members, Recover: m == members[0]}}
	}
}

// until waits for as many events as wanted.
func (r *trio) until(count int, want func(Event) bool) {
	r.t.Helper()
	for {
		r.mu.Lock()
		n := 0
		for _, e := range r.events {
			if want(e) {
				n++
			}
		}
		r.mu.Unlock()
		if n >= count {
			return
		}
		select {
		case <-r.more:
		case <-r.t.Context().Done():
			r.t.Fatal("the test is over")
		}
	}
}

func TestOthersGoOnWithTheKeysOfAMemberThatIsGone(t *testing.T) {
	r := openTrio(t)
	r.agree(1, "a", "b", "c")
	<-r.members["a"].recovered
	r.stop["b"]()
	r.agree(2, "a", "c")
	if v := <-r.members["a"].recovered; v.Agreement.Number != 2 {
		t.Errorf("view %d is recovered", v.Agreement.Number)
	}
	r.until(3, func(e Event) bool { return e.What == "complete" && e.Step == 40 })
	for _, key := range r.config.Keys {
		r.until(1, func(e Event) bool { return e.What == "complete" && e.Key == key && e.Step == 40 })
		step, state, err := Read(t.Context(), r.config, key)
		if err != nil || step != 40 || binary.BigEndian.Uint64(state) != 820 {
			t.Errorf("%s: %d %x %v", key, step, state, err)
		}
	}
	r.until(1, func(e Event) bool { return e.What == "resume" })
}

func TestAMessageWithoutTheSecretIsRefused(t *testing.T) {
	r := openTrio(t)
	c := r.config
	c.Secret, c.Client = []byte("guessed"), http.DefaultClient
	if _, err := c.post(t.Context(), 1, 0, &core.Message{Kind: core.Fetch, Key: "x", View: core.Number{Token: 1 << 60}}); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("a forged message gets %v", err)
	}
	if _, _, err := Read(t.Context(), c, "x"); err == nil {
		t.Error("a reader without the secret reads")
	}
}

func TestConfigurationsThatCannotWorkAreRefused(t *testing.T) {
	whole := Config{Name: "a", Council: []Peer{{"a", ""}, {"b", ""}, {"c", ""}}, Data: 2, Dir: t.TempDir(), Secret: []byte("s"), Every: 1,
		Begin: func(string) ([]byte, error) { return nil, nil }, Advance: func(context.Context, string, uint64, []byte) ([]byte, error) { return nil, nil }}
	if _, err := Open(whole); err != nil {
		t.Fatal(err)
	}
	for i, change := range []func(*Config){
		func(c *Config) { c.Name = "d" }, func(c *Config) { c.Data = 3 }, func(c *Config) { c.Data = 0 }, func(c *Config) { c.Secret = nil },
		func(c *Config) { c.Every = 0 }, func(c *Config) { c.Advance = nil },
	} {
		c := whole
		change(&c)
		if _, err := Open(c); err == nil {
			t.Error(fmt.Sprint("configuration ", i, " is taken"))
		}
	}
}

// BenchmarkSave measures a checkpoint of one key on three nodes of this host: coding, messages, and files that are synced.
func BenchmarkSave(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			r := openNodes(b, func(c *Config) {
				c.Keys, c.Every, c.Last = []string{"x"}, 1, uint64(b.N)
				c.Begin = func(string) ([]byte, error) { return make([]byte, size), nil }
				c.Advance = func(_ context.Context, _ string, step uint64, state []byte) ([]byte, error) {
					next := bytes.Clone(state)
					binary.BigEndian.PutUint64(next, step)
					return next, nil
				}
			})
			b.SetBytes(int64(size))
			b.ResetTimer()
			r.agree(1, "a", "b", "c")
			r.until(1, func(e Event) bool { return e.What == "complete" && e.Step == uint64(b.N) })
		})
	}
}
