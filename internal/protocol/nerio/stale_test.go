package nerio

import (
	"testing"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
)

// word is what a peer says of a life of a member, whether it is true or not.
func (d *driver) word(of protocol.Rank, l protocol.Life) *protocol.Receive {
	r := d.later(of, 1)
	r.Message = &Stale{Heard: l}
	return r
}

// A member acts on the word that its record is an old copy in one case only: it speaks, the life is later than its own, and the tag is
// its own. The table has all cases.
func TestWordsOfALaterLife(t *testing.T) {
	lives := []struct {
		name  string
		life  func(own, later protocol.Life) protocol.Life
		later bool
	}{
		{"an earlier incarnation", func(own, l protocol.Life) protocol.Life { l.Inc = own.Inc - 1; return l }, false},
		{"its own life", func(own, _ protocol.Life) protocol.Life { return own }, false},
		{"another start under its incarnation", func(own, l protocol.Life) protocol.Life { l.Inc = own.Inc; return l }, true},
		{"a later incarnation", func(_, l protocol.Life) protocol.Life { return l }, true},
		{"the last incarnation", func(_, l protocol.Life) protocol.Life { l.Inc = protocol.MaxInc; return l }, true},
	}
	for _, c := range lives {
		for _, tagged := range []bool{false, true} {
			for _, asks := range []bool{false, true} {
				d := newDriver(t, config(3))
				d.Run(100 * ms)
				if asks {
					d.Step(0, d.later(0, 50))
				}
				x := d.members[0].m
				l := c.life(protocol.Life{Inc: x.start.inc, Start: x.cfg.Start}, d.life(0, 99))
				if tagged {
					l.Tag = x.cfg.Tag(l.Inc, l.Start)
				} else {
					l.Tag[0]++
				}
				was, alarms := x.start.inc, d.members[0].count(protocol.EvAccused)
				d.Step(0, d.word(0, l))
				stops := c.later && tagged && !asks
				alarm := c.later && !tagged && !asks
				if x.speaks() == (stops || asks) || x.start.inc != was && !stops {
					t.Errorf("%s, tagged %v, asks %v: speaks %v as %d, before as %d", c.name, tagged, asks, x.speaks(), x.start.inc, was)
				}
				if got := d.members[0].count(protocol.EvAccused) > alarms; got != alarm {
					t.Errorf("%s, tagged %v, asks %v: alarm %v", c.name, tagged, asks, got)
				}
			}
		}
	}
}

// A member that has heard an incarnation of a peer and not its life gets a recorded packet of the life before: no alarm at the peer.
func TestIncarnationAloneAccusesNobody(t *testing.T) {
	for _, met := range []bool{false, true} {
		d := newDriver(t, config(3))
		d.Run(100 * ms)
		inc := d.members[0].m.Incarnation()
		b := &d.members[1].m.start.peers[0]
		b.life = protocol.Life{Inc: inc + 1}
		if met {
			b.life.Start[0]++
		}
		d.Step(1, &protocol.Receive{From: protocol.Ident{Rank: 0, Inc: inc}, Message: &Outdated{}, Delay: protocol.Unknown})
		d.Run(10 * ms)
		if alarm := d.members[0].count(protocol.EvAccused) > 0; alarm != met {
			t.Errorf("the life was heard: %v; alarm: %v", met, alarm)
		}
	}
}

func TestFalseWordChangesNothing(t *testing.T) {
	d := newDriver(t, config(3))
	d.campaign("g", 0)
	d.Run(100 * ms)
	lead := d.members[0].Views["g"]
	for i := range 50 {
		for r := range protocol.Rank(3) {
			l := d.life((r+1)%3, protocol.Inc(99+i)) // the tag of another member
			d.Step(r, d.word(r, l))
		}
		d.Run(20 * ms)
	}
	d.expect("g", 0, true)
	if v := d.members[0].Views["g"]; v.Tenure != lead.Tenure || v.Stop {
		t.Errorf("the view is %+v after false words, and was %+v", v, lead)
	}
	for r := range protocol.Rank(3) {
		if d.disk0(r).Void {
			t.Errorf("%v has voided its record", r)
		}
	}
}

// A peer that lies in its answer raises no incarnation.
func TestNobodyElseRaisesAnIncarnation(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	d.members[2].m.start.peers[1].life.Inc = protocol.MaxInc
	d.Crash(1)
	d.members[1].Record = nil
	d.again(cfg, 1)
	d.Run(500 * ms)
	if inc := d.members[1].m.Incarnation(); inc == 0 || inc > 1000 {
		t.Errorf("speaks as %d", inc)
	}
}

// A member with a new disk and a new identity cannot prove its earlier lives. Only its clock puts it above them.
func TestMemberWithoutAClockDoesNotSpeakBelowItself(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	born := func(first protocol.Inc) *Machine {
		d.Crash(1)
		d.members[1].Record, d.members[1].Facts = nil, nil
		d.again(cfg, 1)
		m := d.members[1].m
		m.cfg.FirstInc, m.cfg.Tag = first, drivetest.Tags(77)
		return m
	}
	was := d.members[1].m.Incarnation()
	for _, first := range []protocol.Inc{1, was - 1, was} { // a clock that is not set, and one that is behind
		born(first)
		d.Run(1000 * ms)
		if d.speaks(1) || d.members[1].count(protocol.EvAccused) == 0 {
			t.Errorf("with the clock at %d it speaks as %d, with %d alarms; before it spoke as %d", first, d.members[1].m.Incarnation(), d.members[1].count(protocol.EvAccused), was)
		}
	}
	m := born(5000)
	d.Run(1000 * ms)
	if m.Incarnation() != 5000 {
		t.Errorf("with a clock that is set it speaks as %d", m.Incarnation())
	}
}

// Peers that lie about a life keep a member with a new identity from speaking only if too few others are left.
func TestNewIdentitySpeaksIfEnoughPeersHeardLowerLives(t *testing.T) {
	for _, c := range []struct {
		liars  int
		speaks bool
	}{{1, true}, {2, false}} {
		cfg := config(5)
		d := newDriver(t, cfg)
		d.Run(100 * ms)
		for i := range c.liars {
			d.members[2+i].m.start.peers[1].life = protocol.Life{Inc: protocol.MaxInc - 1, Tag: protocol.Tag{1}}
		}
		d.Crash(1)
		d.members[1].Record = nil
		d.again(cfg, 1)
		m := d.members[1].m
		m.cfg.FirstInc, m.cfg.Tag = 5000, drivetest.Tags(77)
		d.Run(1000 * ms)
		if d.speaks(1) != c.speaks || c.speaks && m.Incarnation() != 5000 {
			t.Errorf("%d of four lie: speaks as %d", c.liars, m.Incarnation())
		}
	}
}

// Of five, two ask and one is down. The other two do not meet every quorum, and what one that asks says does not count.
func TestAskingMemberNeedsAllThatAQuorumMayRemember(t *testing.T) {
	cfg := config(5)
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	d.Crash(4)
	d.Step(0, d.later(0, 99))
	d.Step(1, d.later(1, 99))
	d.Run(1000 * ms)
	if d.speaks(0) || d.speaks(1) {
		t.Fatal("speaks though two others and one that asks as well are all that it has asked")
	}
	d.again(cfg, 4)
	d.Run(1000 * ms)
	if !d.speaks(0) || !d.speaks(1) {
		t.Error("does not speak though all others have answered")
	}
}

// In a council of three each of two that ask needs the other. All have answered, so nobody knows more.
func TestMembersThatAskAtTheSameTimeBothRecover(t *testing.T) {
	d := newDriver(t, config(3))
	d.campaign("g", 2)
	d.Run(100 * ms)
	d.Step(0, d.later(0, 99))
	d.Step(1, d.later(1, 199))
	d.Run(1000 * ms)
	if a, b := d.members[0].m.Incarnation(), d.members[1].m.Incarnation(); a < 100 || b < 200 {
		t.Errorf("speak as %d and %d", a, b)
	}
	d.campaign("g", 2)
	d.Run(500 * ms)
	d.expect("g", 2, true)
}

// A member that was found out long after its start need not wait for what earlier starts promised, but for its own promises.
func TestPromisesOfThisLifeStandWhileItAsks(t *testing.T) {
	d := newDriver(t, config(3))
	d.Run(500 * ms)
	d.Step(1, d.later(1, 99))
	d.Run(50 * ms)
	if !d.speaks(1) {
		t.Error("a member that has promised nothing does not speak again at once")
	}
	d.campaign("g", 0)
	d.Run(200 * ms)
	d.expect("g", 0, true)
	if !d.members[1].m.grantor.Outstanding() {
		t.Fatal("member 1 has promised nothing")
	}
	d.Step(1, d.later(1, 999))
	d.Run(150 * ms)
	if d.speaks(1) {
		t.Error("speaks again while its promise stands")
	}
	d.Run(200 * ms)
	if !d.speaks(1) {
		t.Error("does not speak again when its promise is over")
	}
	d.expect("g", 0, true)
}

// Requests of the life before that go unanswered must not keep the member from waiting: it may not repeat them.
func TestAskingMemberRestsWhileNobodyAnswers(t *testing.T) {
	d := newDriver(t, config(3))
	d.campaign("g", 0)
	d.Run(200 * ms)
	d.expect("g", 0, true)
	d.members[0].obeys = false // the program acts until its lease is over
	d.Drop = func(protocol.Rank, protocol.Rank, protocol.Message) bool { return true }
	d.Run(d.members[0].Wake.Sub(d.Now) + ms) // it has asked for a renewal
	d.Step(0, d.later(0, 99))
	if d.speaks(0) {
		t.Fatal("it does not ask")
	}
	d.Run(500 * ms) // fails if time stands still
}

// A second process with the same name and key lives. The first waits until it is gone.
func TestAskingMemberWaitsForAnotherProcessOfItsName(t *testing.T) {
	d := newDriver(t, config(3))
	d.Run(500 * ms)
	l := d.life(1, 99)
	alive := func() {
		d.Step(0, &protocol.Receive{From: protocol.Ident{Rank: 1, Inc: 99}, Message: &Recover{Nonce: 5, Sender: l}, Delay: protocol.Unknown})
	}
	alive()
	d.Step(1, d.word(1, l))
	for range 20 {
		alive()
		d.Run(50 * ms)
	}
	if d.speaks(1) {
		t.Error("speaks while another process speaks for it")
	}
	d.Run(150 * ms)
	if d.speaks(1) {
		t.Error("speaks while what the other process promised last may stand")
	}
	alarms := d.members[1].count(protocol.EvAccused)
	d.Run(150 * ms)
	if inc := d.members[1].m.Incarnation(); inc < 100 {
		t.Errorf("speaks as %d when the other process is gone", inc)
	}
	if got := d.members[1].count(protocol.EvAccused); got > alarms {
		t.Errorf("%d alarms about a process that was silent for half of the longest promise", got-alarms)
	}
}

func TestAnswerToAnEarlierQuestionDoesNotCount(t *testing.T) {
	d := newDriver(t, config(3))
	d.Run(500 * ms)
	d.Drop = func(from, to protocol.Rank, _ protocol.Message) bool { return to == 1 }
	d.Step(1, d.later(1, 99))
	d.Run(100 * ms)
	for _, r := range []protocol.Rank{0, 2} {
		k := &Known{Nonce: d.members[1].m.start.nonce + 2, State: Speaks, Digest: d.members[1].m.cfg.Listing, Sender: d.members[r].m.life()}
		d.Step(1, &protocol.Receive{From: protocol.Ident{Rank: r, Inc: d.members[r].Inc}, Message: k, Delay: protocol.Unknown})
	}
	d.Run(100 * ms)
	if d.speaks(1) {
		t.Error("speaks by answers to another question")
	}
}

// What an old copy says is incomplete, not wrong: its ceiling counts.
func TestVoidRecordStillBoundsTerms(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	d.Crash(1)
	r := d.disk0(1)
	r.Void, r.Ceiling = true, 1<<30
	d.members[1].Record = r.Append(nil)
	d.again(cfg, 1)
	d.Run(1000 * ms)
	if x := d.members[1].m; !x.speaks() || x.terms.Floor < 1<<30 {
		t.Errorf("speaks: %v, floor %d", x.speaks(), x.terms.Floor)
	}
}

// A peer answers outdated packets with a life at most once in each interval of renewals: they may be recorded, and sent at any rate.
func TestOutdatedPacketsAreAnsweredSeldom(t *testing.T) {
	d := newDriver(t, config(3))
	d.Run(100 * ms)
	d.members[1].m.start.peers[0].life = d.life(0, 99)
	words := 0
	d.Drop = func(from, _ protocol.Rank, m protocol.Message) bool {
		_, stale := m.(*Stale)
		if stale && from == 1 {
			words++
		}
		return stale
	}
	for range 100 {
		d.Step(1, &protocol.Receive{From: protocol.Ident{Rank: 0, Inc: d.members[0].Inc}, Message: &Outdated{}, Delay: protocol.Unknown})
		d.Run(2 * ms)
	}
	if most := 200/50 + 1; words == 0 || words > most {
		t.Errorf("%d words in 200 ms, want some and at most %d", words, most)
	}
}

// A member that is found out before any peer has answered it has not waited at all, however long ago it started.
func TestMemberThatNobodyAnsweredWaitsFromTheFirstAnswer(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	d.Crash(1)
	d.again(cfg, 1)
	d.Drop = func(_, to protocol.Rank, _ protocol.Message) bool { return to == 1 }
	d.Run(1000 * ms)
	d.Step(1, d.later(1, 99))
	d.Run(1000 * ms)
	d.Drop = nil
	d.Run(200 * ms)
	if d.speaks(1) {
		t.Error("speaks before the longest promise is over, counted from the first answer")
	}
	d.Run(200 * ms)
	if !d.speaks(1) {
		t.Error("does not speak when the longest promise is over")
	}
}
