// Elector runs a program on one host of many by the elector of client-go, without a Kubernetes API server: the agent of the host elects.
//
//	regent agent --config /etc/regent/agent.yaml &
//	elector -socket /run/regent/regent.sock -group shop
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/tools/leaderelection"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/kube/regentlock"
)

func main() {
	socket := flag.String("socket", "/run/regent/regent.sock", "where the agent listens")
	name := flag.String("group", "shop", "the group to lead")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *socket, *name); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, socket, name string) error {
	client, err := regent.Dial(ctx, socket)
	if err != nil {
		return err
	}
	defer client.Close() // says that everything has stopped: only when run returns
	group, err := client.Group(name)
	if err != nil {
		return err
	}
	lock, err := regentlock.New(group, regentlock.Config{}) // leases of 5 s
	if err != nil {
		return err
	}
	finished := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(lock.Elector(leaderelection.LeaderCallbacks{
		OnStartedLeading: func(ctx context.Context) {
			defer close(finished)
			work(ctx)
		},
		OnStoppedLeading: func() { log.Print("the elector has stopped") },
		OnNewLeader:      func(id string) { log.Print("the leader is ", id) },
	}))
	if err != nil {
		return err
	}
	elector.Run(ctx)
	select { // Run does not wait for OnStartedLeading
	case <-finished:
	default:
		if lock.Lease() != nil {
			<-finished
		}
	}
	return nil
}

// work is the program. What it does to the outside bears the token of its lease, so that a receiver can refuse what comes too late.
func work(ctx context.Context) {
	lease := regentlock.LeaseOf(ctx)
	for ctx.Err() == nil {
		log.Print("leading, token ", lease.Token())
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}
