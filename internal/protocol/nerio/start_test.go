package nerio

import (
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
	"github.com/regentproject/regent/internal/protocol/record"
)

// again starts a crashed member again.
func (d *driver) again(cfg Config, r protocol.Rank) {
	d.t.Helper()
	cfg.Me = r
	d.boot(cfg)
}

func (d *driver) speaks(r protocol.Rank) bool { return d.members[r].m.Incarnation() != 0 }

func (d *driver) disk0(r protocol.Rank) record.Record {
	d.t.Helper()
	rec, err := record.Decode(d.members[r].Record)
	if err != nil {
		d.t.Fatal(err)
	}
	return rec
}

func (x *member) count(ev protocol.Ev) int {
	n := 0
	for _, f := range x.Facts {
		if f.Ev == ev {
			n++
		}
	}
	return n
}

func TestBootstrapNeedsEveryOtherMember(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.Crash(2)
	d.Run(time.Second)
	if d.speaks(0) || d.speaks(1) {
		t.Fatal("started without having heard of the third")
	}
	d.again(cfg, 2)
	d.Run(200 * ms)
	for r := range protocol.Rank(3) {
		if !d.speaks(r) {
			t.Errorf("%v does not speak though all are there", r)
		}
	}
	if rec := d.disk0(0); rec.Epoch != 0 || rec.Ceiling != lease.LeastAhead || rec.Digest != cfg.Listing {
		t.Errorf("record %+v", rec)
	}
}

func TestBootstrapNeedsEveryMembersConsent(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.Crash(2)
	cfg.Bootstrap = false
	d.again(cfg, 2)
	d.Run(time.Second)
	if d.speaks(0) || d.speaks(1) || d.speaks(2) {
		t.Error("started though one member was not told to")
	}
}

// A member that lost its disk is not new, whatever its flags say.
func TestBootstrapFlagDoesNotReviveALostMemberAsNew(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.Step(0, protocol.Campaign{Group: "g"})
	d.Run(100 * ms)
	token := d.members[0].Views["g"].Term
	d.Crash(1)
	d.members[1].Record = nil
	d.again(cfg, 1)
	d.Run(190 * ms)
	if d.speaks(1) {
		t.Fatal("speaks before the longest promise is over")
	}
	d.Run(100 * ms)
	if !d.speaks(1) {
		t.Fatal("does not recover")
	}
	if f := d.members[1].m.terms.Floor; f < token {
		t.Errorf("floor %d, below the token %d", f, token)
	}
}

func TestLostMemberMustMeetEveryQuorum(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	d.Crash(1)
	d.Crash(2)
	d.members[1].Record = nil
	d.again(cfg, 1)
	d.Run(2 * time.Second)
	if d.speaks(1) {
		t.Fatal("recovered with the word of one of two others: the one that is down may know more")
	}
	d.again(cfg, 2)
	d.Run(500 * ms)
	if !d.speaks(1) {
		t.Error("does not recover with the word of both others")
	}
}

func TestLostMemberStartsAboveAllThatOthersKnow(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	d.members[0].m.terms.See(5000)
	d.members[2].m.start.peers[1].life = d.life(1, 700)
	d.Crash(1)
	d.members[1].Record, d.members[1].Facts = nil, nil
	d.again(cfg, 1)
	d.Run(500 * ms)
	if x := d.members[1].m; x.Incarnation() != 701 || x.terms.Floor < 5000 {
		t.Errorf("incarnation %d, floor %d; want 701 and at least 5000", x.Incarnation(), x.terms.Floor)
	}
	if n := d.members[1].count(protocol.EvSpeak); n != 1 {
		t.Errorf("it speaks as %d incarnations before it speaks above what is known", n-1)
	}
}

// What others know while the longest promise may still stand is not all there is: an acknowledgement may be on its way.
func TestLostMemberBelievesOnlyWhatIsSaidAfterItsWait(t *testing.T) {
	cfg := config(3)
	cfg.Bootstrap = true
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	d.Crash(1)
	d.members[1].Record = nil
	d.again(cfg, 1)
	d.Run(100 * ms) // asked, because it might bootstrap, and answered
	if d.members[1].m.start.got.Empty() {
		t.Fatal("nobody has answered yet")
	}
	d.members[0].m.terms.See(7777)
	d.Run(300 * ms)
	if f := d.members[1].m.terms.Floor; f < 7777 {
		t.Errorf("floor %d: an answer from before the end of the wait was believed", f)
	}
}

func TestLostMemberWaitsForThePromisesOfLongerLeases(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	d.members[2].m.disk.record.Longest = time.Second
	d.Crash(1)
	d.members[1].Record = nil
	d.again(cfg, 1)
	d.Run(990 * ms)
	if d.speaks(1) {
		t.Fatal("did not wait for a promise that was once allowed")
	}
	d.Run(200 * ms)
	if !d.speaks(1) || d.disk0(1).Longest != time.Second {
		t.Errorf("speaks: %v, longest on disk %v", d.speaks(1), d.disk0(1).Longest)
	}
}

// A local group has no record of its own: what it must know of locks of earlier configurations is in the council's.
func TestLongestLockIsRememberedByTheMemberAndByOthers(t *testing.T) {
	wan, lan := config(3), config(3)
	wan.Lock, lan.Lock = 1200*ms, 120*ms
	d := newDriver(t, wan)
	d.Run(100 * ms)
	for r := range protocol.Rank(3) {
		d.Crash(r)
		d.again(lan, r)
	}
	d.Run(500 * ms)
	d.Crash(1)
	d.members[1].Record = nil
	d.again(lan, 1)
	d.Run(time.Second)
	for r := range protocol.Rank(3) {
		if got := d.members[r].m.LongestLock(); got != wan.Lock || d.disk0(r).Lock != wan.Lock {
			t.Errorf("member %d: longest lock %v, on disk %v: want %v", r, got, d.disk0(r).Lock, wan.Lock)
		}
	}
}

func TestRestartedVoterGrantsNothingForTheLongestPromise(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	d.Crash(1)
	d.Crash(2)
	rec := d.disk0(1)
	rec.Promised = 400 * ms // by a start before this one
	d.members[1].Record = rec.Append(nil)
	d.again(cfg, 1)
	d.Step(0, protocol.Campaign{Group: "g"})
	d.Run(390 * ms)
	if l := d.leaders("g"); len(l) > 0 {
		t.Fatalf("%v leads by a vote that may have been given away before the restart", l)
	}
	d.Run(400 * ms)
	d.expect("g", 0, false)
}

func TestCleanStopNoteIsBelievedOnce(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	d.Step(1, protocol.Close{})
	d.Run(300 * ms)
	if !d.members[1].m.Closed() || !d.disk0(1).Clean {
		t.Fatalf("closed %v, note %v", d.members[1].m.Closed(), d.disk0(1).Clean)
	}
	backup := d.members[1].Record
	d.Crash(1)
	d.again(cfg, 1)
	d.Run(10 * ms)
	if !d.members[1].m.grantor.Ready(d.Now) || d.disk0(1).Clean {
		t.Fatalf("ready %v, note still there %v", d.members[1].m.grantor.Ready(d.Now), d.disk0(1).Clean)
	}
	d.Crash(1)
	d.members[1].Record = backup // somebody puts the old record back
	d.again(cfg, 1)
	d.Run(10 * ms)
	if d.members[1].m.grantor.Ready(d.Now) {
		t.Error("the note was believed twice")
	}
}

func TestCleanStopNoteNeedsTheWordOfAllOthers(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	d.Step(1, protocol.Close{})
	d.Run(300 * ms)
	d.Crash(1)
	d.Crash(2)
	d.again(cfg, 1)
	d.Run(150 * ms)
	if d.members[1].m.grantor.Ready(d.Now) {
		t.Error("believed though one who may know better is down")
	}
	d.Run(100 * ms)
	if !d.members[1].m.grantor.Ready(d.Now) {
		t.Error("not ready after the longest promise")
	}
}

func TestNothingIsSaidUnderAnIncarnationBeforeItIsOnDisk(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	d.Crash(1)
	d.Disk = 30 * ms
	d.Drop = func(from, _ protocol.Rank, m protocol.Message) bool {
		if from == 1 && d.members[1].Writes > 0 {
			if _, answer := m.(*Known); !answer {
				t.Errorf("%s before the record is on disk", m.Name())
			}
		}
		return false
	}
	d.again(cfg, 1)
	d.Step(1, protocol.Campaign{Group: "g"})
	d.Run(25 * ms)
	if d.speaks(1) {
		t.Error("speaks before its record is on disk")
	}
	d.Run(100 * ms)
	if !d.speaks(1) {
		t.Error("does not speak when it is")
	}
}

func TestAnotherListingOfTheSameEpochIsRefused(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	other := cfg
	other.Listing[5]++
	_, err := New(other, d.members[0].Record, 1)
	for _, want := range []string{"other members or other votes", "need not have a member in common", "start with the members and votes of the record", "begin a new council with empty directories"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	rec := d.disk0(0)
	rec.Epoch = 4
	if _, err := New(cfg, rec.Append(nil), 1); err == nil || !strings.Contains(err.Error(), "epoch 4") {
		t.Errorf("got %v", err)
	}
	other.Epoch = 1
	if _, err := New(other, d.members[0].Record, 1); err != nil {
		t.Errorf("the next epoch may list others: %v", err)
	}
}

func TestDamagedRecordIsALostOne(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	d.Crash(1)
	d.members[1].Record[20] ^= 1
	d.again(cfg, 1)
	d.Run(150 * ms)
	if d.speaks(1) {
		t.Error("believed a damaged record")
	}
}

func TestTermAboveTheCeilingIsAcknowledgedWhenTheCeilingIsOnDisk(t *testing.T) {
	d := newDriver(t, config(3))
	d.Run(100 * ms)
	d.Disk = 40 * ms
	for _, x := range d.members {
		x.m.terms.Durable = 10 // as if the raise was still on its way
		x.m.grantor.Raise(10)
	}
	d.Step(0, protocol.Campaign{Group: "g"})
	for _, x := range d.members {
		x.m.disk.dirty = true
	}
	d.Run(35 * ms)
	if l := d.leaders("g"); len(l) != 0 {
		t.Error("leads by acceptances that a crash would forget")
	}
	d.Run(50 * ms)
	d.expect("g", 0, false)
}

// Two raises are on their way; the first has come.
func TestEarlierRecordSaysNothingOfALaterCeiling(t *testing.T) {
	d := newDriver(t, config(3))
	d.Run(100 * ms)
	d.Disk = 40 * ms
	x := d.members[1].m
	const first, second = lease.LeastAhead, 5 * lease.LeastAhead
	for _, seen := range []uint64{first, second} {
		x.terms.See(seen)
		d.Step(1, protocol.Tick{})
		d.Run(20 * ms)
	}
	d.Run(5 * ms)
	if on := d.disk0(1).Ceiling; on != first+2*lease.LeastAhead || x.terms.Durable != on {
		t.Errorf("ceiling %d on disk, %d counts as durable", on, x.terms.Durable)
	}
	d.Run(20 * ms)
	if on := d.disk0(1).Ceiling; on != second+4*lease.LeastAhead || x.terms.Durable != on {
		t.Errorf("ceiling %d on disk, %d counts as durable", on, x.terms.Durable)
	}
}

func TestCeilingIsRaisedInTheBackground(t *testing.T) {
	d := newDriver(t, config(3))
	d.Run(100 * ms)
	d.members[0].m.grantor.Raise(lease.LeastAhead - 2)
	d.Step(0, protocol.Campaign{Group: "g"})
	d.Run(100 * ms)
	d.expect("g", 0, true)
	for r := range protocol.Rank(3) {
		if c := d.disk0(r).Ceiling; c < lease.LeastAhead-1+lease.LeastAhead/2 {
			t.Errorf("%v has a ceiling of %d on disk, less than half ahead of the term", r, c)
		}
	}
}

func TestRestartedMemberStartsAtItsCeiling(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.Step(0, protocol.Campaign{Group: "g"})
	d.Run(100 * ms)
	was := d.disk0(1)
	d.Crash(1)
	d.again(cfg, 1)
	d.Run(300 * ms)
	if f := d.members[1].m.terms.Floor; f != was.Ceiling {
		t.Errorf("floor %d, want the ceiling %d that was on disk", f, was.Ceiling)
	}
	if now := d.disk0(1); now.Inc != was.Inc+1 || now.Ceiling < was.Ceiling+lease.LeastAhead {
		t.Errorf("record %+v after %+v", now, was)
	}
	d.Run(200 * ms)
	d.expect("g", 0, true) // claimed again, with a higher term
	if v := d.members[0].Views["g"]; v.Term != 1 {
		t.Errorf("token %d: it must not change within a tenure", v.Term)
	}
}

// Tenures are told apart by their numbers alone, so a member that found out that its record was stale numbers on.
func TestNewIncarnationOfOneProcessNumbersItsTenuresOn(t *testing.T) {
	d := newDriver(t, config(3))
	d.campaign("g", 0)
	d.Run(100 * ms)
	first := d.members[0].Views["g"]
	d.Step(0, d.later(0, 999))
	d.Run(time.Second)
	d.campaign("g", 0)
	d.Run(500 * ms)
	d.expect("g", 0, true)
	if v := d.members[0].Views["g"]; v.Tenure <= first.Tenure || v.Horizon <= first.Horizon {
		t.Errorf("tenure %d behind horizon %d after %d behind %d", v.Tenure, v.Horizon, first.Tenure, first.Horizon)
	}
}

// A machine that is woken has something to do, or it is not woken: otherwise its driver would spin.
func TestNobodyIsWokenForNothing(t *testing.T) {
	for seed := range uint64(10) {
		d := newDriver(t, electorConfig(3))
		d.seed = int(seed)
		d.campaign("g", 0, 1)
		d.Run(200 * ms)
		d.Step(1, protocol.Resign{Group: "g"}) // to be told to the leader, who is deaf
		d.Drop = func(from, to protocol.Rank, _ protocol.Message) bool { return from != to }
		d.Run(30 * ms)
		d.Step(1, d.later(1, 99))
		d.Step(2, protocol.Close{})
		d.Run(2 * time.Second) // fails if time stands still
		d.Drop = nil
		d.Step(0, protocol.Close{})
		d.Run(2 * time.Second)
	}
}

// A member that starts again waits, because it does not know what it granted before. If it leaves in the middle of that, it
// still does not know, and so neither may the next start.
func TestNoCleanStopNoteBeforeTheWaitIsOver(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.Run(100 * ms)
	d.Crash(1)
	d.again(cfg, 1)
	d.Run(10 * ms)
	d.Step(1, protocol.Close{})
	d.Run(10 * ms)
	if !d.members[1].m.Closed() || d.disk0(1).Clean {
		t.Fatalf("closed %v, note %v", d.members[1].m.Closed(), d.disk0(1).Clean)
	}
	d.Crash(1)
	d.again(cfg, 1)
	d.Run(10 * ms)
	if d.members[1].m.grantor.Ready(d.Now) {
		t.Error("grants as if nothing could stand")
	}
}

// A record of another council is not a lost one: its directory belongs to a member of that council.
func TestRecordOfAnotherCouncilIsRefused(t *testing.T) {
	cfg := config(3)
	cfg.Council = protocol.CouncilID{1}
	r := record.Record{Council: protocol.CouncilID{2}, Inc: 7, Digest: cfg.Listing}
	if _, err := New(cfg, r.Append(nil), 1); err == nil || !strings.Contains(err.Error(), "the record is of council 02") {
		t.Errorf("got %v", err)
	}
	r.Council = cfg.Council
	if _, err := New(cfg, r.Append(nil), 1); err != nil {
		t.Error(err)
	}
}

// A record that only names the council is none of a member that has spoken: the council may begin.
func TestRecordOfTheCouncilAloneLetsItBegin(t *testing.T) {
	cfg := config(3)
	cfg.Council = protocol.CouncilID{1}
	m, err := New(cfg, (&record.Record{Council: cfg.Council}).Append(nil), 1)
	if err != nil || m.disk.had || m.disk.record.Council != cfg.Council {
		t.Errorf("%v: had a record: %v, of council %v", err, m.disk.had, m.disk.record.Council)
	}
}
