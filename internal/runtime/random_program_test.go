package runtime_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime"
)

// Lengths of time in the life of a program.
const (
	longestWait  = 2 * time.Second        // for a lease
	longestReign = 600 * time.Millisecond // before it resigns or hands over
	latestStop   = time.Second            // after it was asked
	answerWithin = 500 * time.Millisecond
)

func upTo(rng *rand.Rand, d time.Duration) time.Duration {
	return 1 + time.Duration(rng.Int64N(int64(d)))
}

// pass lets virtual time pass.
func pass(d time.Duration) {
	// wall clock: none, for all of this runs in bubbles of testing/synctest.
	time.Sleep(d)
}

// program starts a program that leads a group again and again, until its process has ended. The machine of the group is opened on
// demand if o is set.
func (p *process) program(g *runtime.Group, o *onDemand) {
	rng := rand.New(rand.NewPCG(p.rng.Uint64(), p.rng.Uint64()))
	p.done.Go(func() {
		for {
			ctx, cancel := context.WithTimeout(context.Background(), upTo(rng, longestWait))
			l, err := g.Campaign(ctx)
			cancel()
			if err == nil {
				t := &tenancy{process: p, group: g.Name, local: o != nil, lease: l}
				if o != nil {
					t.unless = o.unless
				}
				p.council.ledger.begin(t)
				t.run(rng)
			}
			if errors.Is(err, runtime.ErrClosed) || !p.sleep(upTo(rng, renew)) {
				return
			}
		}
	})
}

// sleep says whether the process has not ended by then.
func (p *process) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-p.loop.Ended():
		return false
	}
}

// run is the life of a program that leads. Most stop when they are asked to, some late, and few never.
func (t *tenancy) run(rng *rand.Rand) {
	switch n := rng.IntN(20); {
	case n < 6:
		t.lead(upTo(rng, longestReign))
	case n < 11 && !t.local:
		t.lead(upTo(rng, longestReign))
		t.transfer(rng)
	case n < 15:
		t.await()
	case n < 19:
		t.await()
		t.process.sleep(upTo(rng, latestStop))
	default:
		t.neverStop()
		return
	}
	t.stop()
}

// neverStop is a program that ignores the request to stop. Its lease runs out under it, within a bound.
func (t *tenancy) neverStop() {
	ledger := t.process.council.ledger
	ledger.count("programs that never stop")
	t.await()
	select {
	case <-t.lease.Over():
		ledger.count("leases that ran out under a program")
	case <-t.process.loop.Ended():
	case <-time.After(grace + 2*longest + time.Second): // the loop may be held up, and the disk be slow
		ledger.fail("EveryStopIsBounded", "%v still holds %s, whose program ignores the request to stop", t.process, t.group)
	}
}

// lead waits for a time, or until the program is asked to stop.
func (t *tenancy) lead(d time.Duration) {
	select {
	case <-t.lease.Done():
	case <-time.After(d):
	case <-t.process.loop.Ended():
	}
}

func (t *tenancy) await() {
	select {
	case <-t.lease.Done():
	case <-t.process.loop.Ended():
	}
}

// stop says that the program has stopped.
func (t *tenancy) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	t.running.Store(false)
	_ = t.lease.Resign(ctx)
}

// transfer hands the group over. A program whose transfer was not begun goes on, until it is asked to stop.
func (t *tenancy) transfer(rng *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	to := protocol.Rank(rng.IntN(len(t.process.council.names)))
	t.running.Store(false)
	a, begun, _ := t.lease.Transfer(ctx, to)
	if a.OK {
		t.process.council.ledger.count("transfers")
	}
	if !begun {
		t.running.Store(true)
		t.lead(longestReign)
	}
}
