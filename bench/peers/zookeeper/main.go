// Zookeeper is a candidate by the recipe for leader election of ZooKeeper, for make bench-peers: ephemeral nodes in sequence, of which the lowest leads.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/regentproject/regent/bench/peers/candidate"
)

func main() {
	journals := flag.String("journals", "", "the directory of journals")
	name := flag.String("name", "", "the name of the candidate")
	servers := flag.String("servers", "", "addresses of servers, with commas between them")
	session := flag.Duration("session", 40*time.Second, "how long a session lasts without a sign of life")
	flag.Parse()
	if err := run(*journals, *name, strings.Split(*servers, ","), *session); err != nil {
		fmt.Fprintln(os.Stderr, "peer zookeeper:", err)
		os.Exit(1)
	}
}

const (
	// parent holds the nodes of the candidates.
	parent = "/" + candidate.Group
	// again is after what time it tries again what failed.
	again = 20 * time.Millisecond
)

// election is a candidate.
type election struct {
	conn     *zk.Conn
	process  *candidate.Process
	own      atomic.Pointer[string] // its node while it leads
	resigned chan chan error
	// away has a word when the connection was lost: from then on it must not count on its session.
	away chan struct{}
}

func run(journals, name string, servers []string, session time.Duration) error {
	p, err := candidate.New(journals, name)
	if err != nil {
		return err
	}
	e := &election{process: p, resigned: make(chan chan error), away: make(chan struct{}, 1)}
	conn, events, err := zk.Connect(servers, session, zk.WithLogger(log.New(os.Stderr, "", 0)), zk.WithLogInfo(false))
	if err != nil {
		return err
	}
	e.conn = conn
	go e.follow(events)
	go p.Serve(candidate.Belief{Leads: e.leads, Verify: e.verify, Resign: e.resign})
	for ready := false; ; {
		if _, err := conn.Create(parent, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			time.Sleep(again)
			continue
		}
		if !ready {
			p.Ready()
			ready = true
		}
		if err := e.campaign(); err != nil {
			time.Sleep(again)
		}
	}
}

// follow notes when the connection is lost.
func (e *election) follow(events <-chan zk.Event) {
	for v := range events {
		if v.Type == zk.EventSession && (v.State == zk.StateDisconnected || v.State == zk.StateExpired) {
			select {
			case e.away <- struct{}{}:
			default:
			}
		}
	}
}

// sequence is the number of a node, behind what the client puts in front of it.
func sequence(node string) int {
	n, err := strconv.Atoi(node[strings.LastIndexByte(node, '-')+1:])
	if err != nil {
		return -1
	}
	return n
}

// campaign makes a node, waits until it is the lowest, leads, and takes the node away.
func (e *election) campaign() error {
	select {
	case <-e.away:
	default:
	}
	path, err := e.conn.CreateProtectedEphemeralSequential(parent+"/n-", nil, zk.WorldACL(zk.PermAll))
	if err != nil {
		return err
	}
	defer func() { _ = e.conn.Delete(path, -1) }()
	own := path[len(parent)+1:]
	for {
		nodes, _, err := e.conn.Children(parent)
		if err != nil {
			return err
		}
		slices.SortFunc(nodes, func(a, b string) int { return sequence(a) - sequence(b) })
		i := slices.Index(nodes, own)
		if i < 0 {
			return errors.New("the session is over")
		}
		if i == 0 {
			e.lead(path)
			return nil
		}
		there, _, gone, err := e.conn.ExistsW(parent + "/" + nodes[i-1])
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		select {
		case <-gone:
		case <-e.away:
			return errors.New("the connection is lost")
		}
	}
}

// lead leads until the connection is lost or it resigns. As the recipes say, a leader that is not connected must not act.
func (e *election) lead(path string) {
	e.own.Store(&path)
	e.process.Led(uint64(sequence(path) + 1))
	select {
	case <-e.away:
		e.own.Store(nil)
		e.process.Lost("the connection is lost")
	case done := <-e.resigned:
		e.own.Store(nil)
		err := e.conn.Delete(path, -1)
		e.process.Lost("it resigned")
		done <- err
	}
}

// leads is what a program can know without asking a server.
func (e *election) leads() bool { return e.own.Load() != nil && e.conn.State() == zk.StateHasSession }

var errNotLeader = errors.New("it does not lead")

// verify has the server catch up with the leader of the servers, and looks at the node then.
func (e *election) verify(context.Context) error {
	path := e.own.Load()
	if path == nil {
		return errNotLeader
	}
	if _, err := e.conn.Sync(parent); err != nil {
		return err
	}
	there, _, err := e.conn.Exists(*path)
	if err == nil && !there {
		return errNotLeader
	}
	return err
}

func (e *election) resign(ctx context.Context) error {
	if e.own.Load() == nil {
		return errNotLeader
	}
	done := make(chan error, 1)
	select {
	case e.resigned <- done:
		return <-done
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
