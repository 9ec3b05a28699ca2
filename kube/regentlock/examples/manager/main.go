// Manager runs the controllers of a controller-runtime manager on one host of many: the agent of the host elects, and no Lease object is written.
//
//	manager -socket /run/regent/regent.sock -group my-operator
package main

import (
	"context"
	"errors"
	"flag"
	"log"

	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/kube/regentlock"
)

func main() {
	socket := flag.String("socket", "/run/regent/regent.sock", "where the agent listens")
	name := flag.String("group", "my-operator", "the group to lead")
	flag.Parse()
	if err := run(signals.SetupSignalHandler(), *socket, *name); err != nil {
		log.Fatal(err) // the group is given up when this process has exited
	}
}

func run(ctx context.Context, socket, name string) error {
	cluster, err := config.GetConfig()
	if err != nil {
		return err
	}
	client, err := regent.Dial(ctx, socket)
	if err != nil {
		return err
	}
	group, err := client.Group(name)
	if err != nil {
		return err
	}
	lock, err := regentlock.New(group, regentlock.Config{})
	if err != nil {
		return err
	}
	m, err := manager.New(cluster, options(lock))
	if err != nil {
		return err
	}
	// Add controllers here. Those that write to the outside take the token from lock.Lease when they start.
	if err := m.Start(ctx); err != nil {
		return errors.Join(err, errors.New("exiting: controllers may still run"))
	}
	return lock.Stopped(context.WithoutCancel(ctx)) // Start has waited for all of them
}

// options returns the options of a manager that elects by the lock.
func options(lock *regentlock.Lock) manager.Options {
	c := lock.Config()
	return manager.Options{
		LeaderElection:                      true,
		LeaderElectionResourceLockInterface: lock,
		// The manager uses these three with any lock, and its defaults do not fit a lease of 5 s.
		LeaseDuration: &c.Lease,
		RenewDeadline: &c.RenewDeadline,
		RetryPeriod:   &c.RetryPeriod,
		// LeaderElectionReleaseOnCancel stays false: a manager whose grace period runs out would release while its controllers run.
	}
}
