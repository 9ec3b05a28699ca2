// Raft is a member of a council of hashicorp/raft that does nothing but elect, for comparisons: make bench-calm.
//
// It keeps its log in memory, so that no disk slows it down. It prints "leads NANOSECONDS" and "lost NANOSECONDS", by the wall clock, and ends with its input.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

func main() {
	addrs := flag.String("addrs", "", "addresses of all members, with commas between them")
	self := flag.Int("self", 0, "which of them this one is, from 0")
	heartbeat := flag.Duration("heartbeat", time.Second, "after what silence of the leader an election begins; up to twice as much by chance")
	flag.Parse()
	if err := run(strings.Split(*addrs, ","), *self, *heartbeat); err != nil {
		fmt.Fprintln(os.Stderr, "bench-raft:", err)
		os.Exit(1)
	}
}

func run(addrs []string, self int, heartbeat time.Duration) error {
	if self < 0 || self >= len(addrs) {
		return fmt.Errorf("-self %d: there are %d addresses", self, len(addrs))
	}
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(addrs[self])
	// The longest lease that raft accepts: it forgives the longest pause.
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = heartbeat, heartbeat, heartbeat
	c.CommitTimeout = min(c.CommitTimeout, heartbeat/4)
	c.Logger = hclog.New(&hclog.LoggerOptions{Level: hclog.Error, Output: os.Stderr})
	transport, err := raft.NewTCPTransportWithLogger(addrs[self], nil, 3, 10*time.Second, c.Logger)
	if err != nil {
		return err
	}
	store, snapshots := raft.NewInmemStore(), raft.NewInmemSnapshotStore()
	var all raft.Configuration
	for _, a := range addrs {
		all.Servers = append(all.Servers, raft.Server{ID: raft.ServerID(a), Address: raft.ServerAddress(a)})
	}
	if err := raft.BootstrapCluster(c, store, store, snapshots, transport, all); err != nil {
		return err
	}
	r, err := raft.NewRaft(c, nothing{}, store, store, snapshots, transport)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	for {
		select {
		case leads := <-r.LeaderCh():
			what := "lost"
			if leads {
				what = "leads"
			}
			fmt.Println(what, time.Now().UnixNano())
		case <-ended:
			return nil
		}
	}
}

// nothing is a state machine without state.
type nothing struct{}

func (nothing) Apply(*raft.Log) any                 { return nil }
func (nothing) Snapshot() (raft.FSMSnapshot, error) { return nothing{}, nil }
func (nothing) Restore(r io.ReadCloser) error       { return r.Close() }
func (nothing) Persist(s raft.SnapshotSink) error   { return s.Close() }
func (nothing) Release()                            {}
