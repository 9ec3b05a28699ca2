// Raft is a candidate by hashicorp/raft, for make bench-peers and make bench-calm: a member of a council that does nothing but elect.
//
//	main.go   the member
//	notes.go  what survives kill -9
//
// It keeps its log in memory, so that no disk slows it down. Its term and its vote are in a file that is not synchronised: they survive kill -9 and not the host.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/regentproject/regent/bench/peers/candidate"
)

func main() {
	o := options{}
	addrs := flag.String("addrs", "", "addresses of all members, with commas between them")
	flag.IntVar(&o.self, "self", 0, "which of them this one is, from 0")
	flag.DurationVar(&o.heartbeat, "heartbeat", 0, "after what silence of the leader an election begins, up to twice as much by chance: for all time-outs; 0: the defaults of the library")
	flag.StringVar(&o.journals, "journals", "", "the directory of journals")
	flag.StringVar(&o.notes, "notes", "", "the file of term and vote; empty: memory")
	flag.Parse()
	o.addrs = strings.Split(*addrs, ",")
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "peer raft:", err)
		os.Exit(1)
	}
}

type options struct {
	addrs           []string
	self            int
	heartbeat       time.Duration
	journals, notes string
}

// config returns the constants of the library, with other time-outs if those are asked for.
func config(o options) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(o.addrs[o.self])
	if o.heartbeat > 0 {
		// The longest lease that raft accepts: it forgives the longest pause.
		c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = o.heartbeat, o.heartbeat, o.heartbeat
		c.CommitTimeout = min(c.CommitTimeout, o.heartbeat/4)
	}
	c.Logger = hclog.New(&hclog.LoggerOptions{Level: hclog.Error, Output: os.Stderr})
	return c
}

func run(o options) error {
	if o.self < 0 || o.self >= len(o.addrs) {
		return fmt.Errorf("-self %d: there are %d addresses", o.self, len(o.addrs))
	}
	p, err := candidate.New(o.journals, fmt.Sprint(o.self))
	if err != nil {
		return err
	}
	c := config(o)
	changes := make(chan bool, 64)
	c.NotifyCh = changes
	r, err := start(c, o)
	if err != nil {
		return err
	}
	go p.Serve(candidate.Belief{
		Leads:  func() bool { return r.State() == raft.Leader },
		Verify: func(context.Context) error { return r.VerifyLeader().Error() },
		Resign: func(context.Context) error { return r.LeadershipTransfer().Error() },
	})
	go func() {
		for { // until it knows a leader
			if addr, _ := r.LeaderWithID(); addr != "" {
				p.Ready()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	for leads := range changes {
		if leads {
			p.Led(r.CurrentTerm())
		} else {
			p.Lost("its state is another")
		}
	}
	return nil
}

// start starts the member. One with notes has been a member before: it has its configuration from the leader then.
func start(c *raft.Config, o options) (*raft.Raft, error) {
	at, err := net.ResolveTCPAddr("tcp", o.addrs[o.self])
	if err != nil {
		return nil, err
	}
	transport, err := raft.NewTCPTransportWithLogger(o.addrs[o.self], at, 3, 10*time.Second, c.Logger)
	if err != nil {
		return nil, err
	}
	store, snapshots := raft.NewInmemStore(), raft.NewInmemSnapshotStore()
	stable, err := openNotes(o.notes)
	if err != nil {
		return nil, err
	}
	var all raft.Configuration
	for _, a := range o.addrs {
		all.Servers = append(all.Servers, raft.Server{ID: raft.ServerID(a), Address: raft.ServerAddress(a)})
	}
	if err := raft.BootstrapCluster(c, store, stable, snapshots, transport, all); err != nil && !errors.Is(err, raft.ErrCantBootstrap) {
		return nil, err
	}
	return raft.NewRaft(c, nothing{}, store, stable, snapshots, transport)
}

// nothing is a state machine without state.
type nothing struct{}

func (nothing) Apply(*raft.Log) any                 { return nil }
func (nothing) Snapshot() (raft.FSMSnapshot, error) { return nothing{}, nil }
func (nothing) Restore(r io.ReadCloser) error       { return r.Close() }
func (nothing) Persist(s raft.SnapshotSink) error   { return s.Close() }
func (nothing) Release()                            {}
