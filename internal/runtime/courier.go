package runtime

import (
	"context"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/order"
)

// A Courier sends orders of operators to other members, and takes theirs. It drives a machine of package order, which decides what is executed.
type Courier struct {
	place *OnDemand
	// execute is called on the loop, and must not wait. It calls answer when the order was executed, on any goroutine.
	execute func(from protocol.Rank, body []byte, answer func([]byte))

	// The rest is the loop's own. waiting are the calls of Send by the ids of their orders.
	machine *order.Machine
	waiting map[uint64]chan order.End
}

// NewCourier returns a courier of a loop that may run already. Open lets it begin.
func NewCourier(l *Loop, execute func(from protocol.Rank, body []byte, answer func([]byte))) *Courier {
	c := &Courier{execute: execute, waiting: make(map[uint64]chan order.End)}
	c.place = NewOnDemand(l, OnDemandOptions{Channel: ChannelOf("orders", ""), Name: "the orders of other members", Make: c.make})
	return c
}

// Open lets the courier take orders for as long as the loop runs.
func (c *Courier) Open() error { return c.place.Enter() }

// make makes the machine of an incarnation. What the one before has sent ends.
func (c *Courier) make(_, _ protocol.Time, inc protocol.Inc) (protocol.Machine, error) {
	if c.machine != nil {
		c.tell(c.machine.Abandon())
	}
	c.machine = order.New(c.place.loop.Self, inc)
	return (*courierMachine)(c), nil
}

func (c *Courier) tell(ended []order.End) {
	for _, e := range ended {
		if w := c.waiting[e.ID]; w != nil {
			delete(c.waiting, e.ID)
			w <- e
		}
	}
}

// Send sends an order to a member and waits for its outcome. If ctx ends before, the order may be executed nevertheless.
func (c *Courier) Send(ctx context.Context, to protocol.Rank, body []byte) (order.End, error) {
	var id uint64
	end := make(chan order.End, 1)
	err := c.place.loop.Do(func(now protocol.Time) {
		if c.place.instance == nil {
			end <- order.End{Outcome: order.NotTaken}
			return
		}
		var ok bool
		id, ok = c.machine.Send(now, to, body)
		if !ok {
			end <- order.End{Outcome: order.Busy}
			return
		}
		c.waiting[id] = end
		c.place.instance.Post(protocol.Tick{})
	})
	if err != nil {
		return order.End{Outcome: order.NotTaken}, err
	}
	select {
	case e := <-end:
		return e, nil
	case <-c.place.loop.Ended():
		return order.End{}, ErrClosed
	case <-ctx.Done():
		_ = c.place.loop.Do(func(protocol.Time) {
			if c.waiting[id] != nil {
				c.machine.Drop(id)
				delete(c.waiting, id)
			}
		})
		return order.End{}, context.Cause(ctx)
	}
}

// A courierMachine is the machine as the loop sees it: what it wants to be executed, and what has ended, is passed on after each Step.
type courierMachine Courier

// Step lets the machine take an event.
func (m *courierMachine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	c := (*Courier)(m)
	c.machine.Step(now, ev, out)
	delivered, ended := c.machine.Take()
	c.tell(ended)
	for _, d := range delivered {
		by, loop := c.machine, c.place.loop
		c.execute(d.From, d.Body, func(answer []byte) {
			_ = loop.Do(func(now protocol.Time) {
				if c.machine == by && c.place.instance != nil {
					by.Finish(now, d.Number, answer)
					c.place.instance.Post(protocol.Tick{})
				}
			})
		})
	}
}
