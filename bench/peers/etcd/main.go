// Etcd is a candidate for an election of etcd's client library, for make bench-peers.
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

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/regentproject/regent/bench/peers/candidate"
)

func main() {
	journals := flag.String("journals", "", "the directory of journals")
	name := flag.String("name", "", "the name of the candidate")
	endpoints := flag.String("endpoints", "", "addresses of the servers, with commas between them")
	ttl := flag.Int("ttl", 60, "how many seconds a session lasts without a sign of life")
	flag.Parse()
	if err := run(*journals, *name, strings.Split(*endpoints, ","), *ttl); err != nil {
		fmt.Fprintln(os.Stderr, "peer etcd:", err)
		os.Exit(1)
	}
}

// again is after what time it tries again what failed.
const again = 20 * time.Millisecond

// A tenure is one session and its campaign.
type tenure struct {
	session  *concurrency.Session
	election *concurrency.Election
}

// election is a candidate.
type election struct {
	client   *clientv3.Client
	name     string
	ttl      int
	process  *candidate.Process
	held     atomic.Pointer[tenure]
	resigned chan struct{}
}

func run(journals, name string, endpoints []string, ttl int) error {
	p, err := candidate.New(journals, name)
	if err != nil {
		return err
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: time.Second, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	e := &election{client: client, name: name, ttl: ttl, process: p, resigned: make(chan struct{}, 1)}
	go p.Serve(candidate.Belief{Leads: e.leads, Verify: e.verify, Resign: e.resign})
	for ready := false; ; {
		s, err := concurrency.NewSession(client, concurrency.WithTTL(ttl))
		if err != nil {
			time.Sleep(again)
			continue
		}
		if !ready {
			p.Ready()
			ready = true
		}
		e.campaign(s)
		_ = s.Close()
	}
}

// campaign waits until the session leads, and then until it no longer does.
func (e *election) campaign(s *concurrency.Session) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer context.AfterFunc(s.Ctx(), cancel)()
	t := &tenure{s, concurrency.NewElection(s, "/"+candidate.Group)}
	if err := t.election.Campaign(ctx, e.name); err != nil {
		time.Sleep(again)
		return
	}
	e.held.Store(t)
	e.process.Led(uint64(t.election.Rev()))
	select {
	case <-s.Done():
		e.held.Store(nil)
		e.process.Lost("the session is over")
	case <-e.resigned:
		e.process.Lost("it resigned")
	}
}

// leads is what a program can know without asking a server: that its session was not seen to end.
func (e *election) leads() bool {
	t := e.held.Load()
	if t == nil {
		return false
	}
	select {
	case <-t.session.Done():
		return false
	default:
		return true
	}
}

var errNotLeader = errors.New("it does not lead")

// verify compares the key of the election in a transaction, as etcd recommends to those that write under it.
func (e *election) verify(ctx context.Context) error {
	t := e.held.Load()
	if t == nil {
		return errNotLeader
	}
	r, err := e.client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(t.election.Key()), "=", t.election.Rev())).Then(clientv3.OpGet(t.election.Key())).Commit()
	if err == nil && !r.Succeeded {
		return errNotLeader
	}
	return err
}

func (e *election) resign(ctx context.Context) error {
	t := e.held.Swap(nil)
	if t == nil {
		return errNotLeader
	}
	err := t.election.Resign(ctx)
	e.resigned <- struct{}{}
	return err
}
