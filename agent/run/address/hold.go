package address

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/tenure/address"
)

// An Answer is what the runner says when the process asks: how long the leadership lasts from then, and how often members have come back
// that may not know who has the address.
type Answer struct {
	Remaining time.Duration `json:"remaining_ns"`
	Healed    int           `json:"healed"`
}

// A Question is what the process asks, with what it has found: the hardware addresses of other hosts that have its addresses as well.
type Question struct {
	Duplicates map[string]string `json:"duplicates,omitempty"`
}

// Serve answers the questions of the process that holds addresses until it ends.
func Serve(conn io.ReadWriter, answer func(Question) Answer) {
	in, out := json.NewDecoder(conn), json.NewEncoder(conn)
	for {
		var q Question
		if in.Decode(&q) != nil || out.Encode(answer(q)) != nil {
			return
		}
	}
}

// askEvery is how often the process asks its runner for the deadline.
const askEvery = address.Every / 2

// A Kernel does what a machine asks for.
type Kernel interface {
	// Set returns whether that is news to neighbours: the host did not have the address, or its interface was down.
	Set(a Address, lifetime time.Duration) (news bool, err error)
	Delete(a Address) error
	Announce(a Address) error
	Probe(a Address) (string, error)
}

// Own is the kernel of this host, for a process that may change addresses.
type Own struct {
	// Newer says that a process of a later leadership on this host holds the address: see Drop.
	Newer func(Address) bool
	// down are the addresses whose interfaces were down at the last call that set them.
	down map[Address]bool
}

// ProbeWithin is how long other hosts have to answer a probe.
const ProbeWithin = time.Second

// Set looks first: a call that adds the address again does not differ from one that refreshes it.
func (o *Own) Set(a Address, lifetime time.Duration) (news bool, err error) {
	link, err := a.link()
	if err != nil {
		return false, err
	}
	places, err := a.Find()
	if err != nil {
		return false, err
	}
	up := link.Flags&net.FlagRunning != 0
	news = len(places) == 0 || up && o.down[a]
	if o.down == nil {
		o.down = make(map[Address]bool)
	}
	o.down[a] = !up
	return news, a.Set(lifetime)
}

func (o *Own) Delete(a Address) error          { return a.leave(o.Newer) }
func (o *Own) Announce(a Address) error        { return a.Announce() }
func (o *Own) Probe(a Address) (string, error) { return a.Probe(ProbeWithin) }

// An Event is what a holder of addresses reports.
type Event struct {
	// Event is held, released, held by another, or failed.
	Event   string `json:"event"`
	Address string `json:"address"`
	// Hardware is of the other host that has the address, and Error why a call failed.
	Hardware string `json:"hardware_address,omitempty"`
	Error    string `json:"error,omitempty"`
}

// The events.
const (
	Held      = "held"
	Released  = "released"
	Duplicate = "duplicate"
	Failed    = "failed"
)

// A Holder holds addresses while its runner leads.
type Holder struct {
	Clock  clock.Clock
	Kernel Kernel
	// Runner answers questions: see Serve.
	Runner io.ReadWriter
	// Report takes events.
	Report func(Event)

	all []*one
	// deadlines and heals come from the runner.
	deadlines chan protocol.Time
	heals     chan struct{}
	gone      chan struct{}

	mu sync.Mutex
	// duplicates are other hosts that have addresses, by address.
	duplicates map[string]string
}

// one is one address of a holder.
type one struct {
	Address
	m *address.Machine
	// held and other are what was reported last, and failures all that were reported.
	held     bool
	other    string
	failures map[string]bool
	// probed gets what a probe has found; nil: none is under way.
	probed chan probed
}

// probed is what a probe has found: the hardware address of another host, or why the network could not be asked.
type probed struct {
	other string
	err   error
}

// Hold holds the addresses until ctx ends or the runner has ended, and returns when the kernel has none of them.
func (h *Holder) Hold(ctx context.Context, addresses []Address) {
	h.duplicates = make(map[string]string)
	h.deadlines, h.heals, h.gone = make(chan protocol.Time), make(chan struct{}), make(chan struct{})
	for _, a := range addresses {
		h.all = append(h.all, &one{Address: a, m: address.New(), failures: make(map[string]bool)})
	}
	asking, end := context.WithCancel(context.Background())
	defer end()
	go h.ask(asking)
	timer := time.NewTimer(0)
	defer timer.Stop()
	stop, gone := ctx.Done(), h.gone
	for {
		wake, over := h.work()
		if over {
			return
		}
		timer.Reset(clock.Until(h.Clock, wake))
		select {
		case <-timer.C:
		case until := <-h.deadlines:
			h.each(func(o *one) { o.m.Extend(until) })
		case <-h.heals:
			h.each(func(o *one) { o.m.Heal(h.Clock.Now()) })
		case <-stop:
			stop = nil
			h.each(func(o *one) { o.m.Stop() })
		case <-gone:
			gone = nil
			h.each(func(o *one) { o.m.Stop() })
		}
	}
}

func (h *Holder) each(f func(*one)) {
	for _, o := range h.all {
		f(o)
	}
}

// ask asks the runner for the deadline now and then. What remains counts from before the question, so that the deadline is not later than the
// runner's.
func (h *Holder) ask(ctx context.Context) {
	defer close(h.gone)
	in, out := json.NewDecoder(h.Runner), json.NewEncoder(h.Runner)
	pause := time.NewTicker(askEvery)
	defer pause.Stop()
	for healed := 0; ; {
		before := h.Clock.Now()
		h.mu.Lock()
		q := Question{Duplicates: maps.Clone(h.duplicates)}
		h.mu.Unlock()
		if out.Encode(q) != nil {
			return
		}
		var a Answer
		if in.Decode(&a) != nil {
			return
		}
		select {
		case h.deadlines <- before.Add(a.Remaining):
		case <-ctx.Done():
			return
		}
		if a.Healed > healed {
			healed = a.Healed
			select {
			case h.heals <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
	}
}

// work does what the machines ask for, and returns when they want to be asked again, and whether all are over.
func (h *Holder) work() (wake protocol.Time, over bool) {
	wake, over = protocol.Never, true
	for _, o := range h.all {
		move := h.move(o)
		for move != address.Wait && move != address.Over {
			move = h.move(o)
		}
		h.heed(o)
		if move == address.Wait {
			over = false
			wake = min(wake, o.m.Wake(h.Clock.Now()))
		}
	}
	return wake, over
}

// move does one thing that a machine asks for, and returns what that was.
func (h *Holder) move(o *one) address.Move {
	before := h.Clock.Now()
	move, lifetime := o.m.Next(before)
	switch move {
	case address.Set:
		news, err := h.Kernel.Set(o.Address, lifetime)
		o.m.SetDone(before, h.Clock.Now(), lifetime, err == nil, news)
		h.failed(o, err)
	case address.Delete:
		err := h.Kernel.Delete(o.Address)
		o.m.DeleteDone(h.Clock.Now(), err == nil)
		h.failed(o, err)
	case address.Announce:
		h.failed(o, h.Kernel.Announce(o.Address))
	case address.Probe:
		h.probe(o)
	}
	if held := o.m.Held(); held != o.held {
		o.held = held
		event := Released
		if held {
			event = Held
		}
		h.Report(Event{Event: event, Address: o.String()})
	}
	return move
}

// failed reports why a call failed, once for each address and reason.
func (h *Holder) failed(o *one, err error) {
	if err == nil || o.failures[err.Error()] {
		return
	}
	o.failures[err.Error()] = true
	h.Report(Event{Event: Failed, Address: o.String(), Error: err.Error()})
}

// probe looks in the background whether another host has the address.
func (h *Holder) probe(o *one) {
	if o.probed != nil {
		return
	}
	found := make(chan probed, 1)
	o.probed = found
	go func() {
		other, err := h.Kernel.Probe(o.Address)
		found <- probed{other, err}
	}()
}

// heed reports what a probe has found, once for each other host.
func (h *Holder) heed(o *one) {
	select {
	case found := <-o.probed:
		o.probed = nil
		h.failed(o, found.err)
		if found.other != "" && found.other != o.other {
			h.Report(Event{Event: Duplicate, Address: o.String(), Hardware: found.other})
		}
		o.other = found.other
		h.mu.Lock()
		defer h.mu.Unlock()
		if o.other == "" {
			delete(h.duplicates, o.String())
		} else {
			h.duplicates[o.String()] = o.other
		}
	default:
	}
}

// String describes an event for people.
func (e Event) String() string {
	switch e.Event {
	case Held:
		return "this host has " + e.Address
	case Released:
		return "this host no longer has " + e.Address
	case Duplicate:
		return fmt.Sprintf("another host, %s, has %s as well: find it, and take the address away from it", e.Hardware, e.Address)
	}
	return e.Error
}
