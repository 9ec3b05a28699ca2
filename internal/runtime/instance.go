package runtime

import (
	"fmt"
	"hash/fnv"
	"io"

	"github.com/regentproject/regent/internal/protocol"
)

// A Channel says which of a member's machines a message is for. All members give the machines of one group the same one.
type Channel uint32

// Council is the channel of the machine that serves the council as a whole.
const Council Channel = 0

// ChannelOf returns the channel of a group, from its mode and its name: the same at every member, and never Council.
func ChannelOf(mode, name string) Channel {
	h := fnv.New32a()
	_, _ = io.WriteString(h, mode+"\x00"+name)
	return max(1, Channel(h.Sum32()))
}

// An Instance is a machine in a loop, with the sink that it publishes to. All but its channel is the loop's own.
type Instance struct {
	channel Channel
	name    string
	loop    *Loop
	machine protocol.Machine
	sink    Sink
	// incarnate is the machine, if it is the council's and decides under which incarnation the member speaks.
	incarnate protocol.Incarnate
	// prover is the machine, if it is the council's and gives proofs.
	prover prover
	// wake is when the machine wants a Tick, and sinkWake when the sink does.
	wake, sinkWake protocol.Time
	// index is where it stands in the heap of wakes; -1: nowhere.
	index int
	// dirty says that its sink has got something since it was last looked at.
	dirty bool
	gone  bool
}

// Add gives the loop another machine. The name is for people. It is refused if a machine that is here already has the
// channel. It is called before Run, or on the loop's goroutine; the machine starts with the loop, or at once.
func (l *Loop) Add(channel Channel, name string, m protocol.Machine, s Sink) (*Instance, error) {
	if other := l.instances[channel]; other != nil {
		return nil, fmt.Errorf("%s cannot be opened while %s is open here: both names come to the channel %d; rename one of them",
			name, other.name, channel)
	}
	i := &Instance{channel: channel, name: name, loop: l, machine: m, sink: s, wake: protocol.Never, sinkWake: protocol.Never, index: -1}
	if channel == Council {
		i.incarnate, _ = m.(protocol.Incarnate)
		i.prover, _ = m.(prover)
		if l.Proved != nil && (i.incarnate == nil || i.prover == nil) {
			return nil, fmt.Errorf("%s does not say which proofs it has given: it cannot have a guardian", name)
		}
	}
	l.instances[channel] = i
	if !l.running {
		l.unstarted = append(l.unstarted, i)
		return i, nil
	}
	l.step(i, l.Clock(), protocol.Start{})
	return i, nil
}

// Remove takes a machine out of the loop. Messages to it are dropped from now on, as if the member had crashed. It is
// called on the loop's goroutine.
func (l *Loop) Remove(i *Instance) {
	if i.gone {
		return
	}
	i.gone = true
	delete(l.instances, i.channel)
	l.wakes.remove(i)
}

// Post gives the machine an event after the present one. Only the loop's own goroutine calls it: a Sink, or a call.
func (i *Instance) Post(ev protocol.Event) {
	i.loop.queue = append(i.loop.queue, queued{to: i, event: ev})
}

// due is when there is something to do.
func (i *Instance) due() protocol.Time { return min(i.wake, i.sinkWake) }

// An wakeHeap holds the instances by when they are due: a heap, so that what is not due costs nothing.
type wakeHeap []*Instance

// next returns when the first is due.
func (a wakeHeap) next() protocol.Time {
	if len(a) == 0 {
		return protocol.Never
	}
	return a[0].due()
}

// set puts an instance where it belongs now.
func (a *wakeHeap) set(i *Instance) {
	switch {
	case i.gone:
		return
	case i.index < 0 && i.due() == protocol.Never:
		return
	case i.index < 0:
		i.index = len(*a)
		*a = append(*a, i)
	case i.due() == protocol.Never:
		a.remove(i)
		return
	}
	a.down(a.up(i.index))
}

func (a *wakeHeap) remove(i *Instance) {
	n := i.index
	if n < 0 {
		return
	}
	last := len(*a) - 1
	a.swap(n, last)
	(*a)[last] = nil
	*a = (*a)[:last]
	i.index = -1
	if n < last {
		a.down(a.up(n))
	}
}

func (a wakeHeap) swap(n, m int) {
	a[n], a[m] = a[m], a[n]
	a[n].index, a[m].index = n, m
}

func (a wakeHeap) up(n int) int {
	for n > 0 {
		parent := (n - 1) / 2
		if a[parent].due() <= a[n].due() {
			break
		}
		a.swap(n, parent)
		n = parent
	}
	return n
}

func (a wakeHeap) down(n int) {
	for {
		least := n
		for c := 2*n + 1; c <= 2*n+2 && c < len(a); c++ {
			if a[c].due() < a[least].due() {
				least = c
			}
		}
		if least == n {
			return
		}
		a.swap(n, least)
		n = least
	}
}
