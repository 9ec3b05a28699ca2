package suite_test

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/suite"
)

// Backups are restored at random: of any member, the leader more often than others, of any age, as often as not in the
// middle of something else. Each of the others that is up remembers, and can be asked: so one member is down at a time,
// and no link is cut for as long as the longest promise. Without that a backup cannot be found out, which is why the other
// random runs leave it out.
func TestRandomBackupsNeverDoHarm(t *testing.T) {
	found, restored := 0, 0
	for seed := range few(60) {
		d := sim.NewDice(seed, 0xbac)
		n := 3 + d.N(3)
		p := lookup(t, "nerio")
		w, all := council(t, p, func(c *sim.Config) {
			c.Members, c.Seed = n, seed
			c.Link = sim.Link{Delay: sim.Between(100*time.Microsecond, 8*time.Millisecond), Loss: sim.Percent(int64(d.N(3))), Duplicate: sim.Percent(int64(d.N(5)))}
			c.Disk = sim.Between(0, 5*time.Millisecond)
			c.Program.Again = sim.Between(time.Millisecond, 100*time.Millisecond)
			for range n {
				c.Clocks = append(c.Clocks, sim.ClockSpec{Rate: int64(protocol.DefaultRho) * int64(d.N(3)-1)})
			}
			step := uint64(1 + d.N(3)) // ceilings that are no higher than need be
			c.Spawn = func(b sim.Boot) (protocol.Machine, error) {
				cfg := suite.NerioConfig(b)
				cfg.TermStep = step
				return nerio.New(cfg, b.Record, b.Seed)
			}
		})
		for _, c := range all {
			w.Observe(c)
		}
		w.Observe(observer(func(r *sim.Record) {
			if r.Ev == protocol.EvWait && r.Why == "stale record" {
				found++
			}
		}))
		at := sim.Real(time.Second)
		for range 12 {
			who := protocol.Rank(d.N(n))
			if d.N(2) == 0 {
				who = sim.TheLeader
			}
			down := d.Between(time.Millisecond, 600*time.Millisecond)
			w.Schedule(sim.Fault{At: at, Kind: sim.Crash, A: who, B: protocol.Nobody, For: down, Disk: sim.Backup, Amount: int64(1 + d.N(16))},
				sim.Fault{At: at.Add(d.Between(0, time.Second)), Kind: sim.Resign, A: sim.TheLeader, B: protocol.Nobody, Group: p.Groups[0]})
			restored++
			at = at.Add(down + d.Between(600*time.Millisecond, 1500*time.Millisecond))
		}
		if err := w.Run(at.Add(2 * time.Second)); err != nil {
			t.Errorf("seed %d, %d members: %v", seed, n, err)
		}
	}
	if found < restored/4 {
		t.Errorf("%d of %d backups were found out: nothing was shown", found, restored)
	}
	t.Logf("%d of %d backups were found out; the others were of the newest incarnation, or there was nothing older", found, restored)
}

// Peers lie at random: each says to any other that it has heard a later life of it, with a tag of another member, of another life, or none.
// Leaders, records and incarnations stay as they are.
func TestLyingPeersChangeNothing(t *testing.T) {
	lies, alarms := 0, 0
	for seed := range few(20) {
		d := sim.NewDice(seed, 0x11e)
		n := 2 + d.N(4)
		p := lookup(t, "nerio")
		var tags []func(protocol.Inc, protocol.StartBits) protocol.Tag
		w, all := council(t, p, func(c *sim.Config) {
			c.Members, c.Seed = n, seed
			c.Link = sim.Link{Delay: sim.Between(100*time.Microsecond, 8*time.Millisecond)}
			tags = make([]func(protocol.Inc, protocol.StartBits) protocol.Tag, n)
			c.Spawn = func(b sim.Boot) (protocol.Machine, error) {
				tags[b.Self] = b.Tag
				return nerio.New(suite.NerioConfig(b), b.Record, b.Seed)
			}
		})
		for _, c := range all {
			w.Observe(c)
		}
		lost := 0
		w.Observe(observer(func(r *sim.Record) {
			switch {
			case r.Ev == protocol.EvAccused:
				alarms++
			case r.T > sim.Real(time.Second) && (r.Ev == protocol.EvWait || r.Ev == protocol.EvSpeak || r.Ev == protocol.EvStepdown):
				lost++
			}
		}))
		for at := sim.Real(time.Second); at < sim.Real(3*time.Second); at = at.Add(d.Between(0, 20*time.Millisecond)) {
			victim := protocol.Rank(d.N(n))
			liar := (victim + 1 + protocol.Rank(d.N(n-1))) % protocol.Rank(n)
			l := protocol.Life{Inc: protocol.Inc(d.N(1000)), Start: protocol.StartBits{byte(d.N(256))}}
			kind := d.N(4)
			lies++
			w.At(at, func() {
				switch kind {
				case 0:
					l.Tag = tags[liar](l.Inc, l.Start)
				case 1:
					l.Tag = tags[victim](l.Inc+1, l.Start)
				case 2:
					l.Tag = protocol.Tag{1}
				}
				w.Command(victim, &protocol.Receive{From: w.Ident(liar), Message: &nerio.Stale{Heard: l}, Delay: protocol.Unknown})
			})
		}
		if err := w.Run(sim.Real(4 * time.Second)); err != nil {
			t.Errorf("seed %d, %d members: %v", seed, n, err)
		}
		if lost > 0 {
			t.Errorf("seed %d, %d members: %d waits, new incarnations and lost leases after lies", seed, n, lost)
		}
	}
	if alarms < lies/4 {
		t.Errorf("%d lies raised %d alarms: nothing was shown", lies, alarms)
	}
}

// observer is a function that sees records.
type observer func(*sim.Record)

func (o observer) Observe(r *sim.Record) error { o(r); return nil }
