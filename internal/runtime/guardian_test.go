package runtime

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/obituary"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/protocol/rank"
	"github.com/regentproject/regent/internal/transport"
)

// proving is a machine that has given a proof once it has said something.
type proving struct {
	toy
	proved protocol.Time
}

func (m *proving) Proved() protocol.Time { return m.proved }

// N-VER: the guardian must not report the death while a proof may still be believed. A member that dies right after it has sent the proof must have shown it.
func TestProofIsShownBeforeItLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		m := &proving{toy: toy{inc: 1}}
		m.script = map[string]func(protocol.Time) protocol.Effects{
			"Receive question": func(protocol.Time) protocol.Effects { m.proved = 700; return m.say(1, "proof", false) },
			"Receive again":    func(protocol.Time) protocol.Effects { m.proved = 600; return m.say(1, "shorter", false) },
		}
		l, end := begin(m, j, func(o *Options) { o.Proved = func(until protocol.Time) { j.add("proved until %d", int64(until)) } })
		for _, text := range []string{"question", "again"} {
			j.mu.Lock()
			j.in = append(j.in, text)
			j.mu.Unlock()
			l.Waiter.Wake()
			synctest.Wait()
		}
		end()
		var got []string
		for _, line := range j.take() {
			if strings.HasPrefix(line, "proved") || strings.HasPrefix(line, "send") {
				got = append(got, line[:12])
			}
		}
		expect(t, "proofs", got, "proved until", "send proof t", "send shorter")
	})
}

func TestMachineThatHidesItsProofsHasNoGuardian(t *testing.T) {
	l := NewLoop(Options{Waiter: NewChanWaiter(), Port: quiet{}, Proved: func(protocol.Time) {}})
	if _, err := l.Add(Council, "the council", &toy{inc: 1}, journalSink{&journal{}}); err == nil || !strings.Contains(err.Error(), "guardian") {
		t.Errorf("got %v", err)
	}
}

func TestNumberIsShownBeforeThePacketLeaves(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	var shown []uint64
	d.ports[0].Numbered = func(to protocol.Rank, number uint64) {
		if to != 1 || len(d.lines[0].out) > 0 {
			t.Errorf("number %d to %v when %d packets have left", number, to, len(d.lines[0].out))
		}
		shown = append(shown, number)
	}
	d.greet()
	if n := d.ports[0].Traffic().PacketsOut.Load(); len(shown) == 0 || uint64(len(shown)) != n || !slices.IsSorted(shown) {
		t.Errorf("%v were shown, and %d packets have left", shown, n)
	}
}

// What seals the reports of a guardian goes with start, incarnation, keys and addresses.
func TestPortTellsThatLettersAreOld(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	p, n := d.ports[0], 0
	p.Rekeyed = func() { n++ }
	p.Rename(5)
	p.SetAddrs(1, p.Addrs[1])
	p.Restart(d.now, protocol.StartBits{1})
	if n != 3 {
		t.Errorf("told %d times, want 3", n)
	}
}

func TestReportOfAGuardianReachesTheMachine(t *testing.T) {
	d := newDesk(t, summary("a", "x"), summary("b", "x"))
	var top uint64
	d.ports[0].Numbered = func(_ protocol.Rank, number uint64) { top = number }
	var died *obituary.Report
	d.ports[1].Died = func(r *obituary.Report) protocol.Message { died = r; return &nerio.Died{Report: *r} }
	d.ports[0].Send(d.now, 1, 0, &rank.OK{Seq: 1})
	d.greet()
	letter, err := d.ports[0].Wire.Letter(1)
	if err != nil {
		t.Fatal(err)
	}
	d.lines[0].out = append(d.lines[0].out[:0], transport.Packet{Addr: addr(9), Data: obituary.Append(nil, &letter, top, &obituary.Report{Kept: []protocol.Group{"kept"}})})
	d.got[1] = nil
	d.pass(nil)
	if !slices.Equal(d.got[1], []string{"nerio.Died"}) || died == nil || died.Covers("kept") || !died.Covers("other") {
		t.Errorf("the machine gets %v, with %+v", d.got[1], died)
	}
	if n := d.ports[1].Counts().Packets[datagram.Obituary]; n != 1 {
		t.Errorf("%d reports are counted", n)
	}
}
