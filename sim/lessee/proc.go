package lessee

import (
	"fmt"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lessee"
)

// start begins a life of a process, with a clock of its own.
func (p *proc) start() {
	w := p.world
	bound := float64(deviation) / 1e9
	p.rate = 1 + bound*(2*w.rng.Float64()-1)
	if w.chance(0.5) { // the worst ones are the interesting ones
		p.rate = 1 + bound
		if w.chance(0.5) {
			p.rate = 1 - bound
		}
	}
	p.offset = w.upTo(time.Hour)
	m, err := lessee.New(lessee.Config{Holder: fmt.Sprint("p", p.id), TTL: ttl, Renew: renew, Poll: renew, Rho: deviation})
	if err != nil {
		w.fail("%v", err)
		return
	}
	p.life++
	p.machine, p.leads, p.wants, p.armed = m, false, false, protocol.Never
	p.campaign()
}

// crash ends the process. What it led ends with it; the store does not know.
func (p *proc) crash() {
	p.world.cover.Crashes++
	p.start()
}

// running has f done when the process runs.
func (p *proc) running(f func()) {
	if d := p.paused - p.world.now; d > 0 {
		life := p.life
		p.world.after(d, func() {
			if p.life == life {
				p.running(f)
			}
		})
		return
	}
	f()
}

func (p *proc) campaign() {
	p.running(func() {
		if p.wants || p.leads {
			return
		}
		p.wants = true
		p.tries++
		session := fmt.Sprintf("%d/%d/%d", p.id, p.life, p.tries)
		p.do(p.machine.Campaign(p.now(), session, ""))
	})
}

func (p *proc) withdraw() {
	p.running(func() {
		if !p.wants {
			return
		}
		p.world.cover.Withdrawals++
		p.wants = false
		p.do(p.machine.Withdraw(p.now()))
		p.world.after(p.world.upTo(ttl), p.campaign)
	})
}

// release has the program stop, and say so.
func (p *proc) release() {
	p.running(func() {
		if _, _, on := p.machine.Leads(); !on {
			return
		}
		p.world.cover.Releases++
		p.leads = false
		p.do(p.machine.Release(p.now()))
	})
}

func (p *proc) letRunOut() {
	p.running(func() {
		if _, _, on := p.machine.Leads(); on {
			p.world.cover.Lapses++
			p.frozen = true
			p.do(p.machine.LetRunOut(p.now()))
		}
	})
}

func (p *proc) answer(life int, a lessee.Answer) {
	if p.life != life {
		return
	}
	p.running(func() {
		if p.life == life {
			p.do(p.machine.Answer(p.now(), a))
		}
	})
}

func (p *proc) now() protocol.Time { return p.clock(p.world.now) }

// do checks what came of an event, and carries it out.
func (p *proc) do(out lessee.Out) {
	w := p.world
	if out.Over != lessee.NotOver {
		switch out.Over {
		case lessee.Expired:
			w.cover.Expired++
		case lessee.Replaced:
			w.cover.Replaced++
		}
		p.leads = false
		w.after(w.upTo(ttl/2), p.campaign)
	}
	if out.Won {
		w.cover.Elections++
		if w.store.entry.Beat > 1 {
			w.cover.Takeovers++
		}
		if out.Token <= w.last {
			w.fail("TokensGrow: p%d leads with token %d after token %d", p.id, out.Token, w.last)
		}
		w.last = out.Token
		p.leads, p.wants, p.frozen = true, false, false
	}
	if out.Extended {
		w.cover.Renewals++
		if p.frozen {
			w.fail("FrozenStays: the lease of p%d is longer although it is to run out", p.id)
		}
	}
	if out.Won || out.Extended {
		p.until = out.Until
		p.exclusive()
	}
	for _, r := range out.Send {
		w.send(p, r)
	}
	p.arm(out.Wake)
}

// exclusive checks that no other process may lead, by its own clock.
func (p *proc) exclusive() {
	for _, o := range p.world.procs {
		if o != p && o.leads && o.clock(p.world.now) < o.until {
			p.world.fail("OneLeads: p%d leads while p%d does, for another %v", p.id, o.id, o.realOf(o.until)-p.world.now)
		}
	}
}

// arm has the machine called when it wants to be.
func (p *proc) arm(wake protocol.Time) {
	p.ticks++
	if wake == protocol.Never {
		return
	}
	tick, life := p.ticks, p.life
	p.world.after(p.realOf(wake)-p.world.now+1, func() {
		p.running(func() {
			if p.ticks == tick && p.life == life {
				p.do(p.machine.Tick(p.now()))
			}
		})
	})
}
