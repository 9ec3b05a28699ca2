package wire

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
)

// Limits of what is put together from parts. Only authenticated members get as far as this; the limits bound what a
// faulty one can make its peers hold.
const (
	maxAssemblies = 4                // messages of one peer at once
	maxPending    = 2 * MaxMessage   // bytes of one peer
	maxPendingAll = 32 * MaxMessage  // bytes of all peers
	assemblyLife  = 10 * time.Second // local time from the first part to the last
)

// An assembly is a message of which some parts have come.
type assembly struct {
	message uint64
	sent    protocol.Time
	inc     protocol.Inc
	from    datagram.Start
	number  Number
	channel uint32
	begun   protocol.Time
	parts   [][]byte
	missing int
	size    int
}

// assemblies are those of one peer, oldest first.
type assemblies struct {
	list []*assembly
	size int
}

// join adds a part. It returns the body when it was the last. All parts of a message bear one send stamp: so the bound
// on the delay of whichever part comes last holds for the message.
func (e *Endpoint) join(now protocol.Time, p *peer, h *datagram.Header, f *fragment) (it received, ok bool) {
	a := p.assembling.find(h, f.message)
	if a == nil {
		a = &assembly{message: f.message, sent: h.Sent, inc: h.From.Inc, from: h.Start, number: f.number, channel: f.channel, begun: now,
			parts: make([][]byte, f.parts), missing: f.parts}
		p.assembling.list = append(p.assembling.list, a)
	}
	switch {
	case a.sent != h.Sent || a.number != f.number || a.channel != f.channel || len(a.parts) != f.parts || a.size+len(f.data) > MaxMessage:
		e.giveUp(p, a) // it contradicts itself
		return it, false
	case a.parts[f.part] != nil:
		return it, false
	}
	a.parts[f.part] = slices.Clone(f.data)
	a.missing--
	a.size += len(f.data)
	p.assembling.size += len(f.data)
	e.pending += len(f.data)
	if a.missing > 0 {
		e.limit(p)
		return it, false
	}
	e.drop(p, a)
	e.whole = e.whole[:0]
	for _, part := range a.parts {
		e.whole = append(e.whole, part...)
	}
	return received{a.number, a.channel, e.whole}, true
}

// limit gives up the oldest messages of the peer until it keeps to the limits.
func (e *Endpoint) limit(p *peer) {
	for len(p.assembling.list) > maxAssemblies || p.assembling.size > maxPending {
		e.giveUp(p, p.assembling.list[0])
	}
	for e.pending > maxPendingAll && len(p.assembling.list) > 0 {
		e.giveUp(p, p.assembling.list[0])
	}
}

// expire gives up what has been waiting for too long.
func (e *Endpoint) expire(now protocol.Time, p *peer) {
	for len(p.assembling.list) > 0 && now.Sub(p.assembling.list[0].begun) > assemblyLife {
		e.giveUp(p, p.assembling.list[0])
	}
}

// giveUp forgets an assembly and counts it.
func (e *Endpoint) giveUp(p *peer, a *assembly) {
	e.givenUp++
	e.drop(p, a)
}

func (e *Endpoint) drop(p *peer, a *assembly) {
	p.assembling.list = slices.DeleteFunc(p.assembling.list, func(b *assembly) bool { return a == b })
	p.assembling.size -= a.size
	e.pending -= a.size
}

func (s *assemblies) find(h *datagram.Header, message uint64) *assembly {
	for _, a := range s.list {
		if a.message == message && a.inc == h.From.Inc && a.from == h.Start {
			return a
		}
	}
	return nil
}
