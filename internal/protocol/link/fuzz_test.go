package link

import (
	"encoding/binary"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
)

// FuzzReceive lets a peer say anything at all, in any order: each 16 bytes are one message, or silence. Whatever it says, transitions
// come one after another, words in order, and what is kept has a bound.
func FuzzReceive(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijklmnopqrstuv"))
	f.Add([]byte{0, 0, 1, 1, 5, 1, 0, 0, 0, 0, 1, 1, 1, 2, 20, 0, 1, 0, 1, 2, 30, 1, 0, 0, 1, 0, 1, 2, 40, 3, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := New(Default(0, 2, 2))
		if err != nil {
			t.Fatal(err)
		}
		peer, count, now := protocol.Inc(0), uint64(0), at(0)
		check := func(changes []Change) {
			for _, c := range changes {
				if c.Peer.Inc > peer {
					peer, count = c.Peer.Inc, 0
				}
				count++
				if c.Peer.Inc != peer || c.Count != count || c.Up != (count%2 == 1) {
					t.Fatalf("transition %+v after %d of incarnation %d", c, count-1, peer)
				}
			}
		}
		for ; len(data) >= 16; data = data[16:] {
			wait, far := data[0], data[1]%8 == 7
			now = now.Add(10 * ms << (wait % 5))
			m := &Word{Header: Header{Peer: protocol.Inc(data[2] % 4), Count: uint64(data[3] % 6), Ping: protocol.Time(data[4]),
				Echo: now - l.zero - protocol.Time(data[5])*protocol.Time(ms), Ack: uint64(data[6] % 8), Seq: uint64(data[7] % 80)}}
			if far {
				m.Count, m.Seq = binary.BigEndian.Uint64(data[8:]), binary.BigEndian.Uint64(data[8:])
				m.Ack, m.Echo = m.Seq, protocol.Time(m.Seq)
			}
			before := l.ends[1].took
			changes, words := l.Receive(now, &protocol.Receive{From: protocol.Ident{Rank: 1, Inc: protocol.Inc(data[1] % 4)}, Message: m})
			check(changes)
			if len(changes) == 0 && l.ends[1].took != before+uint64(len(words)) {
				t.Fatalf("%d words delivered, from number %d to %d", len(words), before, l.ends[1].took)
			}
			check(l.Tick(now))
			l.Send(1, &Word{})
			l.Flush(now, new(protocol.Effects))
			if e := &l.ends[1]; e.own > e.seen+2 || e.up() && e.own > e.seen+1 || len(e.early) > l.config.Window {
				t.Fatalf("own %d, seen %d, %d kept", e.own, e.seen, len(e.early))
			}
		}
	})
}
