// Redis is a candidate for a lock of redsync (Redlock) on several servers of Redis, for make bench-peers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	client "github.com/redis/go-redis/v9"

	"github.com/regentproject/regent/bench/peers/candidate"
)

func main() {
	l := &lock{resigned: make(chan chan error)}
	journals := flag.String("journals", "", "the directory of journals")
	name := flag.String("name", "", "the name of the candidate")
	servers := flag.String("servers", "", "addresses of the servers, with commas between them")
	flag.DurationVar(&l.expiry, "expiry", 0, "how long the lock lasts; 0: the default of redsync, 8 s")
	flag.DurationVar(&l.retry, "retry", 0, "how long to wait between two tries to lock; 0: the default of redsync, 50 to 250 ms by chance")
	flag.Float64Var(&l.timeout, "timeout", 0, "how long to wait for a server, as a share of the expiry; 0: the default of redsync, 0.05")
	flag.Parse()
	if err := l.run(*journals, *name, strings.Split(*servers, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "peer redis:", err)
		os.Exit(1)
	}
}

// defaultExpiry is that of redsync.
const defaultExpiry = 8 * time.Second

// lock is a candidate.
type lock struct {
	expiry, retry time.Duration
	timeout       float64
	pools         []redis.Pool
	process       *candidate.Process
	held          atomic.Pointer[tenure]
	resigned      chan chan error
}

// A tenure is a lock that is held, and until when: a reading of the clock of this process.
type tenure struct {
	mutex *redsync.Mutex
	until atomic.Pointer[time.Time]
}

func (t *tenure) renewed() {
	until := t.mutex.Until()
	t.until.Store(&until)
}

func (l *lock) run(journals, name string, servers []string) error {
	p, err := candidate.New(journals, name)
	if err != nil {
		return err
	}
	l.process = p
	for _, addr := range servers {
		o := &client.Options{Addr: addr}
		if l.timeout > 0 {
			// Without this the client waits for its own time-outs, which are seconds, and not for that of redsync.
			o.ContextTimeoutEnabled, o.MaxRetries, o.DialTimeout = true, -1, time.Duration(l.timeout*float64(l.expiry))
		}
		l.pools = append(l.pools, goredis.NewPool(client.NewClient(o)))
	}
	go p.Serve(candidate.Belief{Leads: l.leads, Verify: l.verify, Resign: l.resign})
	p.Ready()
	for {
		m := redsync.New(l.pools...).NewMutex(candidate.Group, l.options()...)
		if err := m.Lock(); err != nil {
			continue // its own tries are over
		}
		t := &tenure{mutex: m}
		t.renewed()
		l.held.Store(t)
		p.Led(0)
		l.hold(t)
	}
}

func (l *lock) options() (o []redsync.Option) {
	if l.expiry > 0 {
		o = append(o, redsync.WithExpiry(l.expiry))
	}
	if l.retry > 0 {
		o = append(o, redsync.WithRetryDelay(l.retry))
	}
	if l.timeout > 0 {
		o = append(o, redsync.WithTimeoutFactor(l.timeout))
	}
	return o
}

// hold extends the lock each third of its expiry until it is lost or given up. The library leaves that to its callers.
func (l *lock) hold(t *tenure) {
	expiry := l.expiry
	if expiry == 0 {
		expiry = defaultExpiry
	}
	tick := time.NewTicker(expiry / 3)
	defer tick.Stop()
	for {
		select {
		case done := <-l.resigned:
			l.held.Store(nil)
			_, err := t.mutex.Unlock()
			l.process.Lost("it resigned")
			done <- err
			time.Sleep(expiry / 4) // for another to win
			return
		case <-tick.C:
			ok, err := t.mutex.Extend()
			if ok && err == nil {
				t.renewed()
				continue
			}
			if time.Now().Before(*t.until.Load()) {
				continue // it holds still, and the next try may succeed
			}
			l.held.Store(nil)
			l.process.Lost(errors.Join(errors.New("the lock could not be extended"), err))
			return
		}
	}
}

// leads compares the clock with the end of what was last granted, as the documentation of Redlock asks for.
func (l *lock) leads() bool {
	t := l.held.Load()
	return t != nil && time.Now().Before(*t.until.Load())
}

var errNotLeader = errors.New("it does not lead")

// verify asks the servers whether most of them know the lock as this process's.
func (l *lock) verify(ctx context.Context) error {
	t := l.held.Load()
	if t == nil {
		return errNotLeader
	}
	if ok, err := t.mutex.ValidContext(ctx); !ok {
		return errors.Join(errNotLeader, err)
	}
	return nil
}

func (l *lock) resign(ctx context.Context) error {
	if l.held.Load() == nil {
		return errNotLeader
	}
	done := make(chan error, 1)
	select {
	case l.resigned <- done:
		return <-done
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
