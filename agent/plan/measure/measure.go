// Package measure measures what the timing of a council depends on, at one host, for package plan.
//
//	measure.go  one phase after the other: the host as it is, with its processors held awake, and busy
//	pauses.go   by how much threads wake up late
//	disk.go     how long a small file takes to be on disk
//	probe.go    round trips between hosts that have no agents yet, by an echo server that ends by itself
//	steal.go    what a virtual machine's host gave to others
//	hints.go    what the kernel says about how this host sleeps
//
// Everything ends with its context, and what was measured until then counts.
package measure

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/regentproject/regent/agent/plan"
	"github.com/regentproject/regent/internal/runtime/thread"
)

// Options say what is measured.
type Options struct {
	// For is how long everything takes together.
	For time.Duration
	// Step is how often threads look while the host is not busy. Longer ones let processors sleep as they do under a member.
	Step time.Duration
	// Realtime asks for the scheduling of a member's thread.
	Realtime bool
	// Busy makes all processors busy until stop is called; nil: the host is measured as it is only.
	Busy func(context.Context) (stop func(), err error)
	// Dir is where to write; empty: nowhere.
	Dir string
	// Peers are addresses of echo servers.
	Peers []string
	// Trips asks the agent of this host for the round trips of its links; nil: there is none.
	Trips func(context.Context) map[string]time.Duration
	// Progress is called about every second.
	Progress func(Progress)
}

// Progress is how far a measurement is.
type Progress struct {
	Load    plan.Load
	Elapsed time.Duration
	For     time.Duration
	Longest time.Duration // pause of the member's thread so far
}

// busyStep is how often threads look at a busy host, which does not sleep anyway.
const busyStep = time.Millisecond

// A phase is a part of the measurement.
type phase struct {
	load  plan.Load
	step  time.Duration
	share time.Duration
}

// phases splits the time: half of it busy, if that is wanted, and a third of the rest with processors held awake, if that can be.
func phases(o *Options, canHold bool) []phase {
	left := o.For
	var out []phase
	if o.Busy != nil {
		out = append(out, phase{plan.Busy, busyStep, o.For / 2})
		left -= o.For / 2
	}
	if canHold {
		out = append([]phase{{plan.Awake, o.Step, left / 3}}, out...)
		left -= left / 3
	}
	return append([]phase{{plan.AsIs, o.Step, left}}, out...)
}

// Run measures. It returns what it has when the context ends, with the reason why a part of it is missing.
func Run(ctx context.Context, o Options) (*plan.Measured, error) {
	m := &plan.Measured{Hints: hints("/")}
	canHold := false
	if hold, err := thread.HoldAwake(); err == nil {
		canHold = true
		_ = hold.Close()
	}
	trips := newTrips()
	var all sync.WaitGroup
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, peer := range o.Peers {
		p, err := dialPeer(peer)
		if err != nil {
			return nil, err
		}
		all.Go(func() { p.run(inner, trips) })
	}
	if o.Trips != nil {
		all.Go(func() { askTrips(inner, o.Trips, trips) })
	}
	var failed error
	var before time.Duration
	for _, p := range phases(&o, canHold) {
		if ctx.Err() != nil {
			break
		}
		if err := one(ctx, &o, p, before, m); err != nil {
			failed = err
			break
		}
		before += p.share
	}
	cancel()
	all.Wait()
	m.Trips = trips.all()
	return m, failed
}

// one measures one phase.
func one(ctx context.Context, o *Options, p phase, before time.Duration, m *plan.Measured) error {
	ctx, cancel := context.WithTimeout(ctx, p.share)
	defer cancel()
	switch p.load {
	case plan.Busy:
		stop, err := o.Busy(ctx)
		if err != nil {
			return err
		}
		defer stop()
	case plan.Awake:
		hold, err := thread.HoldAwake()
		if err != nil {
			return err
		}
		defer func(c io.Closer) { _ = c.Close() }(hold)
	}
	member, ordinary := newWatch(plan.MemberThread, p.load, p.step), newWatch(plan.OrdinaryThread, p.load, p.step)
	var disk *syncs
	var all sync.WaitGroup
	stolen := readSteal("/proc/stat")
	all.Go(func() { member.run(ctx, o.Realtime) })
	all.Go(func() { ordinary.run(ctx, false) })
	if o.Dir != "" {
		var err error
		disk, err = newSyncs(o.Dir)
		if err != nil {
			cancel()
			all.Wait()
			return err
		}
		all.Go(func() { disk.run(ctx) })
	}
	report(ctx, o, func() Progress {
		return Progress{Load: p.load, Elapsed: before + member.elapsed(), For: o.For, Longest: member.late.Longest()}
	})
	all.Wait()
	m.Pauses = append(m.Pauses, member.pauses(), ordinary.pauses())
	if share, ok := readSteal("/proc/stat").since(stolen); ok {
		m.Steal = append(m.Steal, plan.Steal{Load: p.load, Share: share})
	}
	if disk != nil {
		s, err := disk.end(p.load)
		if err != nil {
			return err
		}
		if s.Count > 0 {
			m.Syncs = append(m.Syncs, s)
		}
	}
	return nil
}

// report shows progress until the context ends.
func report(ctx context.Context, o *Options, at func() Progress) {
	if o.Progress == nil {
		<-ctx.Done()
		return
	}
	every := time.NewTicker(time.Second)
	defer every.Stop()
	o.Progress(at())
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			o.Progress(at())
		}
	}
}
