package runtime

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/founding"
	"github.com/regentproject/regent/internal/transport"
	"github.com/regentproject/regent/internal/wire"
)

// A Founder drives the machine by which members agree on the id of their council: first alone, until this member knows it, and then
// for the sake of the others, from within a port.
type Founder struct {
	Machine *founding.Machine
	Codec   *wire.Founding
	Socket  Socket
	Names   []string
	// Addrs are of the members, by rank. The port may change them.
	Addrs [][]netip.AddrPort
	// Report, if it is set, gets what the member waits for, whenever that changes while Found runs.
	Report func(waiting string)

	// Herald, if it is set, asks meanwhile for a configuration that the council has agreed on since it began, and Learnt says whether that
	// is enough to go on: it tells the id of the council as well.
	Herald *Herald
	Learnt func(*council.Chosen) bool

	// traffic counts the packets of the founding, and dropped those that were dropped while Found ran, by reason. Both may be read at any time.
	traffic Traffic
	dropped [datagram.NumReasons]atomic.Uint64
	// keys wait until the goroutine of Found takes them.
	keys atomic.Pointer[wire.Pairs]
	// refused is why the last packet that named a member as its sender was dropped; zero: it was not.
	refused  []datagram.Reason
	reported string
	effects  protocol.Effects
	receive  protocol.Receive
	out      []transport.Packet
}

// step lets the machine take an event and sends what it has to say.
func (f *Founder) step(now protocol.Time, ev protocol.Event) {
	f.effects.Reset()
	f.Machine.Step(now, ev, &f.effects)
	f.out = f.out[:0]
	for _, e := range f.effects.Send {
		for _, data := range f.Codec.Seal(e.To, e.Message) {
			for _, a := range f.Addrs[e.To] {
				f.out = append(f.out, transport.Packet{Data: data, Addr: a})
			}
		}
	}
	if len(f.out) == 0 {
		return
	}
	n, _ := f.Socket.Write(f.out) // what is lost is asked again
	for i := range f.out[:n] {
		f.traffic.PacketsOut.Add(1)
		f.traffic.BytesOut.Add(uint64(len(f.out[i].Data)))
	}
}

// Counts returns what became of packets while Found ran, and what the founding has sent.
func (f *Founder) Counts() PacketCounts {
	var out PacketCounts
	out.traffic(&f.traffic)
	for r := range f.dropped {
		out.drop(datagram.Reason(r), f.dropped[r].Load())
	}
	return out
}

// count judges and counts a packet that came while Found runs.
func (f *Founder) count(now protocol.Time, data []byte) {
	f.traffic.PacketsIn.Add(1)
	f.traffic.BytesIn.Add(uint64(len(data)))
	var r datagram.Reason
	if wire.IsFounding(data) {
		r = f.Take(now, data)
	} else {
		r = f.Codec.Refuse(data)
	}
	if r.Dropped() {
		f.dropped[r].Add(1)
	}
}

// Take judges a founding packet and lets the machine have its message.
func (f *Founder) Take(now protocol.Time, data []byte) datagram.Reason {
	from, m, r := f.Codec.Open(data)
	f.note(from, r)
	if r == datagram.Accepted {
		f.receive = protocol.Receive{From: protocol.Ident{Rank: from}, Message: m, Delay: protocol.Unknown}
		f.step(now, &f.receive)
	}
	return r
}

// note remembers why the last packet of a member was dropped. Anybody can name a member, so it counts only while that is silent.
func (f *Founder) note(from protocol.Rank, r datagram.Reason) {
	if f.refused == nil {
		f.refused = make([]datagram.Reason, len(f.Names))
	}
	if int(from) < len(f.refused) {
		f.refused[from] = r
	}
}

// SetKeys puts other keys in force while Found runs. It may be called from any goroutine.
func (f *Founder) SetKeys(p *wire.Pairs, waiter Waiter) {
	f.keys.Store(p)
	waiter.Wake()
}

// rekey puts in force what SetKeys was given. What was dropped under other keys tells nothing any more.
func (f *Founder) rekey() {
	if p := f.keys.Swap(nil); p != nil {
		f.Codec.SetKeys(p)
		clear(f.refused)
	}
}

// Found waits until the member knows the id of its council and has written it. It is not for members that know it already.
func (f *Founder) Found(ctx context.Context, clock func() protocol.Time, waiter Waiter, write func(record []byte) error) (protocol.CouncilID, error) {
	defer context.AfterFunc(ctx, waiter.Wake)()
	in := transport.NewPackets(inBatch)
	wake := f.next(clock(), protocol.Start{})
	for {
		if len(f.effects.Persist) > 0 {
			if err := write(f.effects.Persist); err != nil {
				return protocol.CouncilID{}, err
			}
			wake = f.next(clock(), protocol.Persisted{})
		}
		if id := f.Machine.ID(); id != (protocol.CouncilID{}) {
			return id, nil
		}
		if ctx.Err() != nil {
			return protocol.CouncilID{}, fmt.Errorf("%w: %s", context.Cause(ctx), f.waiting())
		}
		f.rekey()
		if f.Herald != nil {
			f.Herald.Ask(clock(), 0, slices.Concat(f.Addrs...))
		}
		n, err := f.Socket.TryRead(in)
		if err != nil {
			return protocol.CouncilID{}, err
		}
		for i := range in[:n] {
			if len(f.effects.Persist) > 0 {
				break // the rest is asked for again, if it matters
			}
			if f.Herald != nil && wire.IsFetch(in[i].Data) {
				chosen, _ := f.Herald.Take(clock(), in[i].Data, in[i].Addr)
				if chosen != nil && f.Learnt(chosen) {
					return chosen.Conf.Council, nil
				}
				continue
			}
			f.count(clock(), in[i].Data)
			wake = f.effects.Wake
		}
		now := clock()
		switch {
		case len(f.effects.Persist) > 0:
		case now >= wake: // even if packets wait: a flood must not stop the questions
			f.report() // before the next question, which forgets who has answered the last one
			wake = f.next(now, protocol.Tick{})
		case n == 0:
			waiter.Wait(min(wake.Sub(now), longestFoundingWait), 0) // not longer than until the next question for a configuration
		}
	}
}

// longestFoundingWait bounds what a lost wake-up could do.
const longestFoundingWait = time.Second

// next takes an event and returns when the machine wants the next one.
func (f *Founder) next(now protocol.Time, ev protocol.Event) protocol.Time {
	f.step(now, ev)
	return f.effects.Wake
}

// report reports what the member waits for if that has changed.
func (f *Founder) report() {
	if now := f.waiting(); f.Report != nil && now != f.reported {
		f.reported = now
		f.Report(now)
	}
}

// waiting says what keeps the member from knowing the id.
func (f *Founder) waiting() string {
	var silent, odd []string
	for r := range f.Machine.Silent().All() {
		if problem := f.problem(r); problem != "" {
			odd = append(odd, f.Names[r]+" "+problem)
		} else {
			silent = append(silent, f.Names[r])
		}
	}
	if len(silent) > 0 {
		odd = append([]string{fmt.Sprintf("waits for %s to name the council (start all members, or set council_id in every configuration)", Enumerate(silent))}, odd...)
	}
	if len(odd) == 0 {
		return "no council id: the members do not agree on one (set council_id in every configuration)"
	}
	return "no council id: " + strings.Join(odd, "; ")
}

// problem says why a silent member cannot answer; empty if that is not known.
func (f *Founder) problem(r protocol.Rank) string {
	switch {
	case f.Codec.Revoked(r):
		return "is revoked here and cannot answer (" + foundWithoutRevoked + ")"
	case int(r) >= len(f.refused) || !f.refused[r].Dropped():
		return ""
	}
	what, do := "sends what cannot be read", "install the same release on both"
	switch f.refused[r] {
	case datagram.UnknownKey, datagram.Forged:
		what, do = "seems to have another cluster key", "compare the key files of the two"
	case datagram.MemberKey:
		what = "uses a key that is not listed here, or lists another key of this member"
		do = "compare fingerprints with 'regent keys show' on both, then run 'regent keys exchange'"
	}
	return fmt.Sprintf("%s (its last packet was dropped for %q; %s)", what, f.refused[r], do)
}

// foundWithoutRevoked says what to do about a member that is revoked and was to take part in the founding.
const foundWithoutRevoked = "remove it from the council, or set council_id in every configuration"

// Enumerate joins names as a sentence does: "b", "b and c", "b, c and d".
func Enumerate(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
