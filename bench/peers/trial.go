package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/regentproject/regent/agent/cluster"
)

// kinds are how leaders go.
//
//	kill    the candidate is killed (kill -9); its servers, if it has any, live
//	stop    the candidate is stopped (SIGSTOP), and goes on (SIGCONT) some time after another leads
//	resign  the candidate resigns
//	host    the candidate and all servers of its host are gone at once, and the host is silent: no connection of it is closed
//	cut     the host of the candidate is cut off from the others, and its processes live
var kinds = []string{"kill", "stop", "resign", "host", "cut"}

// apartKinds need hosts that are network namespaces.
var apartKinds = []string{"host", "cut"}

// errVoid says that a trial measured nothing.
var errVoid = errors.New("the leader had gone by itself")

// A trial is the result of one.
type trial struct {
	took time.Duration
	// woke says whether the candidate that was stopped was seen to go on, stale that it believed then that it leads, and staleFor for how long.
	woke, stale bool
	staleFor    time.Duration
}

// trial makes the leader go, waits for the next, and makes the system whole again.
func (r *rig) trial(ctx context.Context, kind string) (trial, error) {
	if err := r.settleDown(ctx); err != nil {
		return trial{}, err
	}
	// At a random point between two signs of life.
	if err := r.sleep(ctx, time.Duration(rand.Int64N(int64(min(r.setting.Length, longestJitter)+1)))); err != nil {
		return trial{}, err
	}
	old := r.leader()
	if old.host == "" {
		return trial{}, errVoid
	}
	begin, err := r.remove(old.host, kind)
	if err != nil {
		return trial{}, err
	}
	var t trial
	void := false
	err = r.await(ctx, r.patience(), "another leads", func(e event) bool {
		switch {
		case e.host == old.host && e.what == "resigning":
			begin = e.at
		case e.host == old.host && (e.what == "lost" && e.at < begin || e.what == "failed" && kind == "resign"):
			void = true
		case e.host != old.host && e.what == "leads":
			t.took, void = e.at.Sub(begin), void || e.at < begin
			return true
		}
		return void && kind == "resign"
	})
	if wrong := r.restore(ctx, old.host, kind, &t); wrong != nil {
		return t, errors.Join(err, wrong)
	}
	if err == nil && void {
		err = errVoid
	}
	return t, err
}

const (
	// longestJitter bounds the random wait before a trial.
	longestJitter = 2 * time.Second
	// quiet is how long a leader has led before it is made to go.
	quiet = 300 * time.Millisecond
)

// patience is for how long a trial waits for the next leader.
func (r *rig) patience() time.Duration { return time.Minute + 3*r.setting.Length }

// settleDown waits until one leads, and no other has begun to for a while.
func (r *rig) settleDown(ctx context.Context) error {
	for {
		if len(r.leading) != 1 {
			if err := r.await(ctx, r.patience(), "exactly one leads", func(event) bool { return len(r.leading) == 1 }); err != nil {
				return err
			}
		}
		before := r.changes
		if err := r.sleep(ctx, min(quiet+2*r.setting.Length, time.Second)); err != nil {
			return err
		}
		if len(r.leading) == 1 && (before == r.changes || r.setting.Length < quiet) {
			return nil
		}
	}
}

// processes are the names of those on a host.
func (r *rig) processes(host string) []string {
	if r.system.servers == nil {
		return []string{"candidate-" + host}
	}
	return []string{"candidate-" + host, "server-" + host}
}

// remove makes the leader go, and returns when that began.
func (r *rig) remove(host, kind string) (cluster.Time, error) {
	name := "candidate-" + host
	begin := cluster.Now()
	switch kind {
	case "kill":
		return begin, r.c.Process(name).Signal(syscall.SIGKILL)
	case "stop":
		return begin, r.c.Pause(name)
	case "resign":
		return begin, r.say(host, "resign")
	case "cut":
		return begin, r.c.Unplug(host)
	case "host":
		return begin, r.silence(host)
	}
	return 0, fmt.Errorf("kind %q: there are %s", kind, strings.Join(kinds, ", "))
}

// silence ends a host as a power failure does. Its processes stop first, so that they send nothing while the cable is pulled out; they are killed
// after that, so that the kernel's good-byes reach no other host.
func (r *rig) silence(host string) error {
	for _, name := range r.processes(host) {
		if err := r.c.Pause(name); err != nil {
			return err
		}
	}
	if err := r.c.Unplug(host); err != nil {
		return err
	}
	for _, name := range r.processes(host) {
		if err := r.c.Process(name).Signal(syscall.SIGKILL); err != nil {
			return err
		}
	}
	return nil
}

// restore makes the system whole again.
func (r *rig) restore(ctx context.Context, host, kind string, t *trial) error {
	switch kind {
	case "kill", "host":
		for _, name := range r.processes(host) {
			if kind == "host" || strings.HasPrefix(name, "candidate-") {
				p := r.c.Process(name)
				if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
					return err
				}
				<-p.Gone()
			}
		}
		return r.restart(ctx, host, kind)
	case "stop":
		return r.wake(ctx, host, t)
	case "cut":
		if err := r.sleep(ctx, r.setting.rest); err != nil {
			return err
		}
		if err := r.c.Plug(host); err != nil {
			return err
		}
		return r.sleep(ctx, healed)
	}
	return nil
}

// healed is how long all hosts are together again before the next trial: members that were apart may find one another only by their next sign of life.
const healed = 2 * time.Second

// restart brings back what was killed on a host.
func (r *rig) restart(ctx context.Context, host, kind string) error {
	if kind == "host" {
		// A server without a disk, such as Redis here, must stay away until all that it granted is over.
		if err := r.sleep(ctx, r.setting.rest); err != nil {
			return err
		}
		if err := r.c.Plug(host); err != nil {
			return err
		}
		r.forget(host)
		if err := r.startServer(host); err != nil {
			return err
		}
	}
	if err := r.startCandidate(host); err != nil {
		return err
	}
	if err := r.await(ctx, startsWithin, "the candidate that was killed is back", func(e event) bool {
		return e.host == host && e.what == "ready" && e.life == r.lives[host]
	}); err != nil {
		return err
	}
	if r.watched {
		if err := r.say(host, "watch"); err != nil {
			return err
		}
	}
	return r.sleep(ctx, r.setting.rest)
}

// forget drops what the server of a host has printed in its last life.
func (r *rig) forget(host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said[host] = nil
}

const (
	// stopped is how long a candidate stays stopped once another leads, staleBound how long to wait until it notices, and wakes how long until it runs again.
	stopped    = 100 * time.Millisecond
	staleBound = 15 * time.Second
	wakes      = 5 * time.Second
)

// wake lets a candidate go on, and sees what it believes then.
func (r *rig) wake(ctx context.Context, host string, t *trial) error {
	if err := r.sleep(ctx, stopped); err != nil {
		return err
	}
	begin := cluster.Now()
	if err := r.c.Resume("candidate-" + host); err != nil {
		return err
	}
	err := r.await(ctx, wakes, "the candidate that was stopped goes on", func(e event) bool {
		if e.host != host || e.what != "woke" || e.at < begin {
			return false
		}
		t.woke, t.stale = true, e.text == "true"
		return true
	})
	if err != nil && ctx.Err() != nil {
		return err
	}
	if t.stale {
		t.staleFor = staleBound
		err := r.await(ctx, staleBound, "it notices", func(e event) bool {
			if e.host != host || e.what != "ceased" || e.at < begin {
				return false
			}
			t.staleFor = e.at.Sub(begin)
			return true
		})
		if err != nil && ctx.Err() != nil {
			return err
		}
	}
	if leads, ok := r.leading[host]; ok && leads.at < begin {
		err := r.await(ctx, staleBound, "its system says that it leads no longer", func(e event) bool { return e.host == host && e.what == "lost" })
		if err != nil && ctx.Err() != nil {
			return err
		}
		delete(r.leading, host)
	}
	return nil
}

// watch has all candidates look at whether they lead, or not.
func (r *rig) watch(on bool) error {
	word := "rest"
	if on {
		word = "watch"
	}
	r.watched = on
	for _, host := range hosts {
		if err := r.say(host, word); err != nil {
			return err
		}
	}
	return nil
}

// possible returns the kinds that this machine can do.
func possible(all []string, apart bool) (can []string) {
	for _, k := range all {
		if apart || !slices.Contains(apartKinds, k) {
			can = append(can, k)
		}
	}
	return can
}
