package runtime_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/transport/fault"
	"github.com/regentproject/regent/internal/transport/memory"
)

const (
	// defaultSeeds is how many seeds the test runs. REGENT_RUNTIME_SEEDS asks for more, as a number or as FROM-TO.
	defaultSeeds = 16
	seedsSetting = "REGENT_RUNTIME_SEEDS"
	// faultsFor is how long faults go on, and settleWithin how soon after them each group has a leader.
	faultsFor    = 20 * time.Second
	settleWithin = 5 * time.Second
	// faultEvery is the longest time between two faults.
	faultEvery = 300 * time.Millisecond
	// leaveWithin is how long a member has to leave in good order.
	leaveWithin = time.Second
	// checkEvery is how often all leases are compared, besides whenever anything is published.
	checkEvery = time.Millisecond
)

// A council is members that run, crash and start again, and their surroundings.
type council struct {
	seed    uint64
	rng     *rand.Rand
	names   []string
	network *memory.Network
	ledger  *ledger
	disks   []*disk
	// members are the processes that run; nil: the member is down. starts counts the processes of each.
	members []*process
	starts  []int
	// calm is closed when faults are over.
	calm    chan struct{}
	leaving sync.WaitGroup
}

// Loops, ports, group tables, on-demand machines and disks of whole councils run under virtual time with random faults, and keep what
// they promise to programs. The seed gives the faults. Goroutines that are ready at the same instant run in any order, so two runs of
// a seed differ in detail; the checks are exact in each.
func TestRandomFaults(t *testing.T) {
	from, to := seeds(t)
	for seed := from; seed < to; seed++ {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runSeed(t, seed) })
		})
	}
}

// seeds returns the seeds to run.
func seeds(t *testing.T) (from, to uint64) {
	t.Helper()
	s := os.Getenv(seedsSetting)
	if s == "" {
		return 1, 1 + defaultSeeds
	}
	first, last, isRange := strings.Cut(s, "-")
	from, err := strconv.ParseUint(first, 10, 64)
	if !isRange {
		from, last = 1, first
	}
	to, err2 := strconv.ParseUint(last, 10, 64)
	if err != nil || err2 != nil {
		t.Fatalf("%s=%s: must be a number of seeds, or FROM-TO", seedsSetting, s)
	}
	return from, to + 1
}

func runSeed(t *testing.T, seed uint64) {
	t.Helper()
	fmt.Printf("%s=%d-%d\n", seedsSetting, seed, seed) // also for a run that panics
	rng := rand.New(rand.NewPCG(seed, 1))
	c := &council{seed: seed, rng: rng, names: []string{"a", "b", "c", "d", "e"}[:3+2*rng.IntN(2)], ledger: newLedger(), calm: make(chan struct{})}
	c.network = memory.New(seed, c.names...)
	c.members, c.starts = make([]*process, len(c.names)), make([]int, len(c.names))
	for i := range c.names {
		c.disks = append(c.disks, &disk{rng: rand.New(rand.NewPCG(seed, uint64(2+i))), slow: time.Millisecond})
	}
	c.heal()
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for !isClosed(stop) {
			c.ledger.check()
			pass(checkEvery)
		}
	})
	for i := range c.names {
		c.startMember(t, i)
	}
	for end := time.Now().Add(faultsFor); time.Now().Before(end); {
		pass(upTo(c.rng, faultEvery))
		c.fault(t)
	}
	c.settle(t)
	for i := range c.members {
		c.leaveMember(i)
	}
	c.leaving.Wait()
	close(stop)
	watching.Wait()
	c.network.Close()
	c.ledger.finish()
	t.Logf("seed %d, %d members: %v", seed, len(c.names), c.ledger.counts)
	for _, f := range c.ledger.failures {
		t.Error(f)
	}
}

// startMember starts a member that is down.
func (c *council) startMember(t *testing.T, i int) {
	t.Helper()
	c.starts[i]++
	p, err := c.start(protocol.Rank(i), c.starts[i])
	if err != nil {
		t.Fatalf("start %s: %v", c.names[i], err)
	}
	c.members[i] = p
}

// leaveMember lets a member leave in good order. It does not wait.
func (c *council) leaveMember(i int) {
	p := c.members[i]
	if p == nil {
		return
	}
	c.members[i] = nil
	c.leaving.Go(func() { p.leave(leaveWithin) })
}

// heal makes all links good.
func (c *council) heal() {
	c.set("*", "*", fault.Link{Delay: 200 * time.Microsecond, Jitter: 300 * time.Microsecond})
}

func (c *council) set(from, to string, l fault.Link) {
	if err := c.network.Links().Set(from, to, l); err != nil {
		panic(err)
	}
}

// settle ends all faults. Within a bound each group has a leader then.
func (c *council) settle(t *testing.T) {
	t.Helper()
	close(c.calm)
	c.heal()
	c.leaving.Wait()
	for i, p := range c.members {
		c.disks[i].set(time.Millisecond, false)
		if p == nil {
			c.startMember(t, i)
			continue
		}
		_ = p.loop.Do(func(protocol.Time) { p.loop.Health(protocol.Health{OK: true}); p.loop.Fault(false) })
	}
	groups := append(slices.Clone(quorumGroups), localGroup)
	since := time.Now()
	for _, g := range groups {
		for !c.ledger.validSince(g, since) && time.Since(since) < settleWithin {
			pass(renew)
		}
		if !c.ledger.validSince(g, since) {
			c.ledger.fail("LeaderInTime", "%s has no leader %v after the last fault%s", g, settleWithin, c.describe(g))
		}
	}
}

// describe tells what the members know of a group.
func (c *council) describe(g protocol.Group) string {
	var b strings.Builder
	for _, p := range c.members {
		fmt.Fprintf(&b, "; %v speaks as %d, votes since %v at %v", p, p.loop.Stats().Inc(), p.loop.Stats().Votes(), p.clock.Now())
		if t := p.tenancy(g); t != nil {
			fmt.Fprintf(&b, ", has led with token %d, its program runs: %v, over: %v", t.lease.Token(), t.running.Load(), isClosed(t.lease.Over()))
		}
		if last := p.table.Group(g).Latest(); last != nil {
			fmt.Fprintf(&b, ", last change: %v of term %d, %v at %v", last.Leader, last.Term, last.Cause, last.At)
		}
	}
	return b.String()
}

// fault makes something happen.
func (c *council) fault(t *testing.T) {
	t.Helper()
	i, j := c.rng.IntN(len(c.names)), c.rng.IntN(len(c.names))
	p := c.members[i]
	switch n := c.rng.IntN(24); {
	case n < 3:
		c.set(c.names[i], c.names[j], c.link())
	case n < 5:
		c.set(c.names[i], c.names[j], fault.Link{Cut: true})
	case n < 6:
		c.set(c.names[i], "*", fault.Link{Cut: true})
		c.set("*", c.names[i], fault.Link{Cut: true})
	case n < 9:
		c.heal()
	case n < 11:
		slow := []time.Duration{time.Millisecond, 20 * time.Millisecond, lease, time.Second}
		c.disks[i].set(slow[c.rng.IntN(len(slow))], c.rng.IntN(4) == 0)
	case p == nil:
		if c.canStart(i) {
			c.startMember(t, i)
		}
	default:
		c.faultOf(p, n)
	}
}

// canStart says whether the earlier process of a member has ended.
func (c *council) canStart(i int) bool {
	conn, err := c.network.Listen(c.names[i])
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// link draws a bad link. Its delay is never zero: what a member does at one instant no other knows at the same.
func (c *council) link() fault.Link {
	return fault.Link{Delay: upTo(c.rng, delay), Jitter: upTo(c.rng, 2*delay), Drop: c.rng.Float64() / 3, Duplicate: c.rng.Float64() / 3,
		Late: upTo(c.rng, 2*lease), Reorder: c.rng.Float64() / 3}
}

// faultOf makes something happen to a process.
func (c *council) faultOf(p *process, n int) {
	i := int(p.rank)
	switch {
	case n < 13:
		c.ledger.count("crashes")
		c.members[i] = nil
		p.crash()
	case n < 14:
		c.ledger.count("departures")
		c.leaveMember(i)
	case n < 16:
		ok := c.rng.IntN(3) > 0
		_ = p.loop.Do(func(protocol.Time) { p.loop.Health(protocol.Health{OK: ok}) })
	case n < 17:
		c.ledger.count("suspends")
		_ = p.loop.Do(func(protocol.Time) {
			p.loop.Suspend()
			p.noneValid()
		})
	case n < 18:
		faulty := c.rng.IntN(3) == 0
		_ = p.loop.Do(func(protocol.Time) {
			p.loop.Fault(faulty)
			if faulty {
				p.noneValid()
			}
		})
	case n < 21:
		c.stale(p)
	default:
		c.visit(p)
	}
}

// noneValid sees to it that no lease of a member with a faulty clock is valid.
func (p *process) noneValid() {
	for _, g := range append(slices.Clone(quorumGroups), localGroup, besideGroup) {
		if t := p.tenancy(g); t != nil && t.lease.Valid() {
			p.council.ledger.fail("FaultyClockLeadsNothing", "%v still leads %s", p, g)
		}
	}
}

// stale makes a member find that its record is an old copy, or that its machine goes on from a snapshot, while all others can tell it
// who it is.
func (c *council) stale(p *process) {
	for _, o := range c.members {
		if o == nil || o.loop.Stats().Inc() == 0 {
			return
		}
	}
	if c.rng.IntN(2) == 0 {
		c.ledger.count("restored")
		p.restored.Store(true)
		return
	}
	c.ledger.count("renamed")
	inc := p.loop.Stats().Inc()
	from := protocol.Ident{Rank: (p.rank + 1) % protocol.Rank(len(c.names)), Inc: 1}
	life := protocol.Life{Inc: inc + 1, Start: protocol.StartBits{1}}
	life.Tag = p.tags()(life.Inc, life.Start)
	_ = p.loop.Do(func(protocol.Time) {
		p.instance.Post(&protocol.Receive{From: from, Message: &nerio.Stale{Heard: life}, Delay: protocol.Unknown})
	})
}

// visit opens a local group for a while without leading it.
func (c *council) visit(p *process) {
	stay, o := upTo(c.rng, lease), p.onDemand[c.rng.IntN(len(p.onDemand))]
	p.done.Go(func() {
		if o.Enter() == nil {
			p.sleep(stay)
			o.Exit()
		}
	})
}
