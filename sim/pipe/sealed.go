package pipe

import (
	"math/rand/v2"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/wire"
	"github.com/regentproject/regent/internal/wire/wiretest"
	"github.com/regentproject/regent/sim"
)

// Sealed returns ports that send what real members would: encoded, split and sealed. All messages of the protocol must be in the
// codec's table. It may be used for any number of worlds.
func Sealed(c Config) sim.NewPort {
	return func(b sim.Boot, put func(to protocol.Rank, packet []byte)) sim.Port {
		return newPort(c, b, put, &sealed{dice: dice{rand.New(rand.NewPCG(b.Seed, uint64(b.Inc)))}})
	}
}

type sealed struct {
	dice   dice
	end    *wire.Endpoint
	batch  *wire.Batch
	buffer []byte
	packet wire.Packet
	copy   []byte
}

func (s *sealed) start(now protocol.Time, c datagram.Config) (*datagram.Endpoint, error) {
	var err error
	s.end, err = wire.NewEndpoint(now, wire.Config{Config: c, Pairs: wiretest.Pairs(c.Self.Rank, c.Members), Random: s.dice})
	if err != nil {
		return nil, err
	}
	s.batch = s.end.NewBatch()
	return s.end.Endpoint, nil
}

func (s *sealed) encode(m protocol.Message, stamp func() datagram.Header, put func(packet []byte)) {
	if m == nil {
		s.seal(stamp(), nil, put)
		return
	}
	s.batch.Reset()
	if err := s.batch.Add(0, m); err != nil {
		panic("pipe: " + err.Error())
	}
	for {
		payload, ok := s.batch.Next()
		if !ok {
			return
		}
		s.seal(stamp(), payload, put)
	}
}

func (s *sealed) seal(h datagram.Header, payload []byte, put func(packet []byte)) {
	packet, err := s.end.Seal(s.buffer[:0], &h, 0, payload)
	if err != nil {
		panic("pipe: " + err.Error())
	}
	s.buffer = packet
	put(packet)
}

// decode opens a copy: the same packet may arrive twice, and opening destroys it.
func (s *sealed) decode(now protocol.Time, packet []byte) (datagram.Verdict, protocol.Ident, protocol.Message) {
	s.copy = append(s.copy[:0], packet...)
	v := s.end.Open(now, s.copy, &s.packet)
	if len(s.packet.Messages) == 0 {
		return v, s.packet.From, nil
	}
	return v, s.packet.From, s.packet.Messages[0].Message
}

func (s *sealed) rekey(k *sim.Keys) {
	if err := s.end.SetKeys(wiretest.PairsOfKeys(s.end.Self().Rank, k.Own, k.Lists)); err != nil {
		panic("pipe: " + err.Error())
	}
}

func (s *sealed) revoked(r protocol.Rank) bool { return s.end.Revoked(r) }

func (s *sealed) restart(now protocol.Time, start datagram.Start) { s.end.Restart(now, start) }

func (s *sealed) incarnation(inc protocol.Inc) { s.end.SetIncarnation(inc) }

// dice is an io.Reader of random bits that a seed determines.
func (s *sealed) obituary(to protocol.Rank, r *obituary.Report) []byte {
	l, err := s.end.Letter(to)
	if err != nil {
		return nil
	}
	return obituary.Append(nil, &l, s.end.Number(to), r)
}

func (s *sealed) died() *obituary.Report { return s.packet.Died }

type dice struct{ *rand.Rand }

func (d dice) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(d.Uint32())
	}
	return len(b), nil
}
