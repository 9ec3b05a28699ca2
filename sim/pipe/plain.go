package pipe

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// Plain returns the ports of one world, judged as real packets are, but without a seal. A packet holds a header in the clear and
// the number of a message that the world keeps aside, so any protocol can run through it. The ports of two worlds must not be
// made by the same call.
func Plain(c Config) sim.NewPort {
	table := &messageTable{}
	return func(b sim.Boot, put func(to protocol.Rank, packet []byte)) sim.Port {
		return newPort(c, b, put, &plain{table: table, dice: dice{rand.New(rand.NewPCG(b.Seed, uint64(b.Inc)))}})
	}
}

// A messageTable holds the messages that were sent in one world: the number of one is its place, from 1 on.
type messageTable struct{ messages []protocol.Message }

type plain struct {
	table  *messageTable
	dice   dice
	judge  *datagram.Endpoint
	lists  [][]int // of members' keys; nil: all have one
	packet []byte
}

const (
	startSize = len(datagram.Start{})
	plainSize = 2 + 8 + 2 + 8 + 5*8 + startSize + len(datagram.StartPrefix{})
)

func (p *plain) start(now protocol.Time, c datagram.Config) (*datagram.Endpoint, error) {
	p.dice.Read(c.Start[:])
	var err error
	p.judge, err = datagram.New(now, c)
	return p.judge, err
}

func (p *plain) encode(m protocol.Message, stamp func() datagram.Header, put func(packet []byte)) {
	number := uint64(0)
	if m != nil {
		p.table.messages = append(p.table.messages, m.Copy())
		number = uint64(len(p.table.messages))
	}
	h := stamp()
	le := binary.LittleEndian
	b := le.AppendUint16(p.packet[:0], uint16(h.From.Rank))
	b = le.AppendUint64(b, uint64(h.From.Inc))
	b = le.AppendUint16(b, uint16(h.To.Rank))
	b = le.AppendUint64(b, uint64(h.To.Inc))
	for _, v := range [...]uint64{h.Seq, uint64(h.Sent), uint64(h.Echo.Sent), uint64(h.Echo.Received), number} {
		b = le.AppendUint64(b, v)
	}
	b = append(append(b, h.Start[:]...), h.ToStart[:]...)
	p.packet = b
	put(b)
}

func (p *plain) decode(now protocol.Time, b []byte) (datagram.Verdict, protocol.Ident, protocol.Message) {
	if len(b) != plainSize {
		return datagram.Verdict{Reason: datagram.Short}, protocol.NoIdent, nil
	}
	h, number := parsePlain(b)
	if p.revoked(h.From.Rank) {
		return datagram.Verdict{Reason: datagram.Revoked}, h.From, nil
	}
	v := p.judge.Accept(now, &h)
	if v.Reason != datagram.Accepted || number == 0 || number > uint64(len(p.table.messages)) {
		return v, h.From, nil
	}
	return v, h.From, p.table.messages[number-1]
}

// parsePlain reads a header and the number of a message.
func parsePlain(b []byte) (h datagram.Header, number uint64) {
	le := binary.LittleEndian
	h = datagram.Header{
		From: protocol.Ident{Rank: protocol.Rank(le.Uint16(b)), Inc: protocol.Inc(le.Uint64(b[2:]))},
		To:   protocol.Ident{Rank: protocol.Rank(le.Uint16(b[10:])), Inc: protocol.Inc(le.Uint64(b[12:]))},
		Seq:  le.Uint64(b[20:]),
		Sent: protocol.Time(le.Uint64(b[28:])),
		Echo: datagram.Echo{Sent: protocol.Time(le.Uint64(b[36:])), Received: protocol.Time(le.Uint64(b[44:]))},
	}
	h.Start, h.ToStart = datagram.Start(b[60:]), datagram.StartPrefix(b[60+startSize:])
	return h, le.Uint64(b[52:])
}

func (p *plain) rekey(k *sim.Keys) { p.lists = k.Lists }

func (p *plain) revoked(r protocol.Rank) bool { return p.lists != nil && len(p.lists[r]) == 0 }

func (p *plain) restart(now protocol.Time, start datagram.Start) { p.judge.Restart(now, start) }

func (p *plain) incarnation(inc protocol.Inc) { p.judge.SetIncarnation(inc) }

// Plain packets carry no reports.
func (p *plain) obituary(protocol.Rank, *obituary.Report) []byte { return nil }

func (p *plain) died() *obituary.Report { return nil }
