package lessee

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A Config is what a process knows of its leases.
type Config struct {
	Holder string
	// TTL is how long a lease lasts, Renew how often it is renewed, and Poll how often a process that does not lead reads the entry.
	TTL, Renew, Poll time.Duration
	Rho              protocol.Rho
}

// Check says what is wrong with the constants.
func (c *Config) Check() error {
	switch {
	case c.Holder == "":
		return errors.New("lessee: no name of the holder")
	case c.Renew <= 0 || c.Poll <= 0:
		return fmt.Errorf("lessee: renew %v, poll %v: must be positive", c.Renew, c.Poll)
	case c.Rho.WaitAtMost(max(0, c.TTL)) <= c.Renew:
		return fmt.Errorf("lessee: TTL %v: must exceed the renewal interval %v", c.TTL, c.Renew)
	}
	return c.Rho.Check()
}

// maxAsks bounds how many requests of a group are under way at once.
const maxAsks = 3

// An ask is a request under way.
type ask struct {
	request Request
	// sent is before the request left.
	sent protocol.Time
}

// A claim is what a program here wants.
type claim struct{ session, value string }

// A tenancy is a leadership of this process.
type tenancy struct {
	on    bool
	entry Entry // as it stood after the last success
	value string
	// until is the end of the lease. Invariant: sent + WaitAtMost(TTL) of a claim or renewal that succeeded.
	until protocol.Time
	// ending says that it is renewed no more.
	ending bool
}

// A Machine is one process's part in one group.
type Machine struct {
	cfg    Config
	nextID uint64
	asks   []ask
	// next is when the next request is due, and calm before when none leaves, because one failed.
	next, calm protocol.Time

	want claim // zero: no program here campaigns
	held tenancy
	// freeing is an entry of this process under which nothing acts any more; it is given back until freeBy. Without a session there is none,
	// and without a token a claim may yet bring it.
	freeing Entry
	freeBy  protocol.Time

	// seen is what the store showed last, known whether it has shown anything, and since the answer that first showed this.
	seen  Entry
	known bool
	since protocol.Time
	// lastTTL is that of the last holder that was seen.
	lastTTL time.Duration
	shown   Sight
}

// New returns a machine that has seen nothing.
func New(c Config) (*Machine, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	return &Machine{cfg: c}, nil
}

// Out is what a step asks of its driver.
type Out struct {
	// Send lists requests, to be sent after the step.
	Send []Request
	// Won says that this process leads from now on, Extended that its lease ends later than before; Until is that end.
	Won, Extended bool
	Until         protocol.Time
	Token         uint64
	// Over says that the leadership is over.
	Over End
	// Seen is what is believed of the group, if Changed.
	Changed bool
	Seen    Sight
	// Wake is when the machine wants a Tick.
	Wake protocol.Time
}

// Leads returns the session and the end of the lease; false if this process does not lead.
func (m *Machine) Leads() (session string, until protocol.Time, ok bool) {
	return m.held.entry.Session, m.held.until, m.held.on
}

// Idle says that nothing is left to do for a process that only looked.
func (m *Machine) Idle() bool {
	return m.want == claim{} && !m.held.on && m.freeing.Session == ""
}

// Campaign has the machine try to lead. The session is unlike any other, of any process.
func (m *Machine) Campaign(now protocol.Time, session, value string) Out {
	m.want, m.next = claim{session, value}, now
	return m.step(now)
}

// Withdraw ends the campaign. A claim that may be under way is given back.
func (m *Machine) Withdraw(now protocol.Time) Out {
	if m.want != (claim{}) {
		m.abandon(now)
		m.want = claim{}
	}
	return m.step(now)
}

// abandon has an entry given back that a claim under way may yet bring.
func (m *Machine) abandon(now protocol.Time) {
	mine := func(e *Entry) bool { return e.Session == m.want.session && !e.Free }
	switch i := slices.IndexFunc(m.asks, func(a ask) bool { return a.request.Swap && mine(&a.request.New) }); {
	case mine(&m.seen):
		m.free(now, m.seen)
	case i >= 0:
		m.free(now, m.asks[i].request.New)
	}
}

// free has an entry given back, under which nothing acts.
func (m *Machine) free(now protocol.Time, e Entry) {
	m.freeing, m.freeBy, m.next = e, now.Add(m.cfg.Rho.WaitAtLeast(m.cfg.TTL)), now
}

// Release says that nothing acts under the leadership any more: others may lead.
func (m *Machine) Release(now protocol.Time) Out {
	var out Out
	if m.held.on {
		e := m.held.entry
		m.end(&out, Released)
		m.free(now, e)
	}
	return m.run(now, out)
}

// LetRunOut ends the renewals: something may still act, and nothing is given back before the end of the lease.
func (m *Machine) LetRunOut(now protocol.Time) Out {
	m.held.ending = true
	return m.step(now)
}

// Announce sets the value that the entry bears from the next renewal on, which is sent now.
func (m *Machine) Announce(now protocol.Time, value string) Out {
	if m.held.on && m.held.value != value {
		m.held.value, m.next = value, now
	}
	return m.step(now)
}

// Hint says that the entry may have changed.
func (m *Machine) Hint(now protocol.Time) Out {
	if !m.held.on {
		m.next = min(m.next, now)
	}
	return m.step(now)
}

// Tick looks at what is due. It may come at any time.
func (m *Machine) Tick(now protocol.Time) Out { return m.step(now) }

// Answer takes an answer. now is after it arrived.
func (m *Machine) Answer(now protocol.Time, a Answer) Out {
	var out Out
	m.expire(now, &out)
	i := slices.IndexFunc(m.asks, func(k ask) bool { return k.request.ID == a.ID })
	if i < 0 {
		return m.run(now, out) // too old to be of use
	}
	k := m.asks[i]
	m.asks = slices.Delete(m.asks, i, i+1)
	switch {
	case a.Failed:
		m.calm = now.Add(m.retry())
	case a.Swapped:
		m.swapped(now, &k, &a.Entry, &out)
	default:
		m.refused(now, &k, &a.Entry, &out)
	}
	return m.run(now, out)
}

// retry is how long to wait after a request that failed.
func (m *Machine) retry() time.Duration { return max(1, min(m.cfg.Poll, m.cfg.Renew)/4) }

// swapped takes note that a request has changed the entry.
func (m *Machine) swapped(now protocol.Time, k *ask, e *Entry, out *Out) {
	until := k.sent.Add(m.cfg.Rho.WaitAtMost(m.cfg.TTL))
	switch {
	case e.Free:
		if e.Session == m.freeing.Session {
			m.freeing = Entry{}
		}
	case m.held.on && e.Session == m.held.entry.Session:
		if e.Beat > m.held.entry.Beat {
			m.held.entry = *e
		}
		if until > m.held.until && !m.held.ending {
			m.held.until = until
			out.Extended, out.Until = true, until
		}
	case e.Session != "" && e.Session == m.want.session && now < until:
		m.held = tenancy{on: true, entry: *e, value: m.want.value, until: until}
		m.want, m.next = claim{}, k.sent.Add(m.cfg.Renew)
		out.Won, out.Token, out.Until = true, e.Token, until
	case e.Session != "" && e.Session == m.freeing.Session:
		m.freeing, m.next = *e, now
	}
	m.observe(now, e)
}

// refused takes note of an entry that was read, or that was not what a request compared it with.
func (m *Machine) refused(now protocol.Time, k *ask, e *Entry, out *Out) {
	h := &m.held
	switch {
	case h.on && (!k.request.Swap || k.request.New.Token != h.entry.Token):
		return // it was asked before this process led
	case h.on && e.Session == h.entry.Session && e.Token == h.entry.Token && !e.Free:
		if e.Beat > h.entry.Beat { // an answer was lost: go on from there
			h.entry, m.next = *e, now
		}
	case h.on:
		m.end(out, Replaced)
	}
	switch {
	case m.freeing.Session == "":
	case e.Session == m.freeing.Session && !e.Free:
		m.freeing, m.next = *e, now
	case !m.underWay(m.freeing.Session):
		m.freeing = Entry{}
	}
	m.observe(now, e)
}

// underWay says whether a claim of a session may yet arrive at the store.
func (m *Machine) underWay(session string) bool {
	return slices.ContainsFunc(m.asks, func(k ask) bool {
		return k.request.Swap && k.request.New.Session == session && !k.request.New.Free
	})
}

// observe takes note of the entry as the store showed it.
func (m *Machine) observe(now protocol.Time, e *Entry) {
	if !m.known || !m.seen.same(e) {
		m.since = now
	}
	m.known, m.seen = true, *e
	if e.Absent() {
		return
	}
	m.lastTTL = e.TTL
}

// takeable returns when the entry as it was seen last may be claimed. In place of an absent one an empty one is made at once.
func (m *Machine) takeable() protocol.Time {
	if m.seen.Absent() || m.seen.Free {
		return m.since
	}
	return m.since.Add(m.cfg.Rho.WaitAtLeast(max(0, m.seen.TTL)))
}

// end ends the leadership.
func (m *Machine) end(out *Out, why End) {
	m.held = tenancy{}
	out.Over = why
}

func (m *Machine) step(now protocol.Time) Out {
	var out Out
	m.expire(now, &out)
	return m.run(now, out)
}

// expire ends what is over by the clock.
func (m *Machine) expire(now protocol.Time, out *Out) {
	if m.held.on && now >= m.held.until {
		m.end(out, Expired)
	}
	useless := m.cfg.Rho.WaitAtMost(m.cfg.TTL)
	m.asks = slices.DeleteFunc(m.asks, func(k ask) bool { return now >= k.sent.Add(useless) })
	if m.freeing.Session != "" && now >= m.freeBy {
		m.freeing = Entry{}
	}
}

// run sends what is due, and says when to come again.
func (m *Machine) run(now protocol.Time, out Out) Out {
	if now >= m.due() {
		r, every := m.request(now)
		m.nextID++
		r.ID = m.nextID
		m.asks = append(m.asks, ask{r, now})
		out.Send = append(out.Send, r)
		m.next = now.Add(every)
	}
	if s := m.sight(now); s != m.shown {
		m.shown, out.Changed, out.Seen = s, true, s
	}
	out.Wake = m.wake()
	return out
}

// due is when the next request leaves.
func (m *Machine) due() protocol.Time {
	if m.held.on && m.held.ending || len(m.asks) == maxAsks {
		return protocol.Never
	}
	next := m.next
	if m.want != (claim{}) && m.known && !m.held.on && !m.swapping() {
		next = min(next, m.takeable())
		if m.mine() {
			next = m.calm
		}
	}
	return max(next, m.calm)
}

// swapping says whether a request that changes the entry is under way.
func (m *Machine) swapping() bool {
	return slices.ContainsFunc(m.asks, func(k ask) bool { return k.request.Swap })
}

// mine says that the entry is of the claim of this process, although no answer has confirmed it in time.
func (m *Machine) mine() bool { return m.seen.Session == m.want.session && !m.seen.Free }

// request returns the request that is due, and after what time the next one is.
func (m *Machine) request(now protocol.Time) (Request, time.Duration) {
	switch {
	case m.held.on:
		e := m.held.entry
		e.Beat, e.Value, e.TTL = e.Beat+1, m.held.value, m.cfg.TTL
		return Request{Swap: true, Old: m.held.entry, New: e}, m.cfg.Renew
	case !m.freeing.Absent():
		e := m.freeing
		e.Beat, e.Free, e.Value = e.Beat+1, true, ""
		return Request{Swap: true, Old: m.freeing, New: e}, m.retry()
	case m.want == claim{} || !m.known || m.swapping():
		return Request{}, m.cfg.Poll
	case m.mine(): // the lease counts from a renewal
		e := m.seen
		e.Beat++
		return Request{Swap: true, Old: m.seen, New: e}, m.cfg.Renew
	case m.seen.Absent(): // it may have been deleted under a holder: wait as for that one
		return Request{Swap: true, Old: m.seen, New: Entry{TTL: max(m.cfg.TTL, m.lastTTL), Beat: 1}}, m.cfg.Renew
	case now >= m.takeable():
		e := Entry{Holder: m.cfg.Holder, Session: m.want.session, TTL: m.cfg.TTL, Value: m.want.value, Beat: m.seen.Beat + 1}
		return Request{Swap: true, Old: m.seen, New: e}, m.cfg.Renew
	}
	return Request{}, m.cfg.Poll
}

// sight is what is believed of the group.
func (m *Machine) sight(now protocol.Time) Sight {
	e := &m.seen
	if m.held.on {
		e = &m.held.entry
	}
	switch {
	case e.Free:
		return Sight{Free: true}
	case e.Absent(), !m.held.on && now >= m.takeable(), !m.held.on && e.Holder == m.cfg.Holder:
		return Sight{}
	}
	return Sight{Holder: e.Holder, Token: e.Token, TTL: e.TTL, Value: e.Value}
}

// wake says when to come again.
func (m *Machine) wake() protocol.Time {
	w := m.due()
	for i := range m.asks {
		w = min(w, m.asks[i].sent.Add(m.cfg.Rho.WaitAtMost(m.cfg.TTL)))
	}
	switch {
	case m.held.on:
		w = min(w, m.held.until)
	case m.shown.Holder != "":
		w = min(w, m.takeable())
	}
	return w
}
