package nerio

import (
	"slices"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
)

func (x *member) answer(id uint64) (protocol.Answer, bool) {
	for _, a := range x.Answers {
		if a.ID == id {
			return a, true
		}
	}
	return protocol.Answer{}, false
}

// council3 has a leading and both others ready to lead.
func council3(t *testing.T) *driver {
	d := newDriver(t, electorConfig(3))
	d.Run(100 * ms)
	d.trust(0)
	d.campaign("g", 0, 1, 2)
	d.Run(200 * ms)
	d.expect("g", 0, true)
	return d
}

func TestResignationGoesToTheBestCandidateWithinTwoRoundTrips(t *testing.T) {
	d := council3(t)
	from := d.Now
	d.Step(0, protocol.Resign{Group: "g"})
	d.Run(100 * ms)
	if got := d.since(from, 1, "g"); got > 3*ms {
		t.Errorf("the successor leads after %v, want one and a half round trips of 2ms", got)
	}
	d.expect("g", 1, true)
}

func TestTransferGoesToWhomItNames(t *testing.T) {
	d := council3(t)
	d.Step(0, protocol.Transfer{Group: "g", To: 2, ID: 5})
	d.Run(100 * ms)
	d.expect("g", 2, true)
	if a, ok := d.members[0].answer(5); !ok || !a.OK || a.Leader.Rank != 2 || a.Term != d.members[2].Views["g"].Term {
		t.Errorf("answer %+v", a)
	}
	for _, v := range d.members[1].History {
		if v.Leader == protocol.NoIdent && v.Cause.Code == protocol.Transferred && v.Cause.Peer == 2 {
			return
		}
	}
	t.Error("the third was not told why nobody led")
}

// The others are told what happened: a resignation names an heir as well, but nobody asked for a transfer.
func TestVotersTellAResignationFromATransfer(t *testing.T) {
	for name, drop := range map[string]func(from, to protocol.Rank, m protocol.Message) bool{
		"by the leader itself": func(protocol.Rank, protocol.Rank, protocol.Message) bool { return false },
		"by its successor": func(from, to protocol.Rank, m protocol.Message) bool {
			return from == 0 && to == 2 && m.Name() == "lease.Request"
		},
	} {
		for ev, want := range map[protocol.Event]protocol.Cause{
			protocol.Resign{Group: "g"}:          {Code: protocol.Resigned, Peer: 0},
			protocol.Transfer{Group: "g", To: 1}: {Code: protocol.Transferred, Peer: 1},
		} {
			d := council3(t)
			d.Drop = drop
			seen := len(d.members[2].History)
			d.Step(0, ev)
			d.Run(20 * ms)
			got := protocol.Cause{}
			for _, v := range d.members[2].History[seen:] {
				if v.Leader == protocol.NoIdent {
					got = v.Cause
				}
			}
			if got != want {
				t.Errorf("released %s, %T: c sees nobody leading because %v, want %v", name, ev, got, want)
			}
		}
	}
}

func TestTransferIsRefusedIfItCannotBe(t *testing.T) {
	d := council3(t)
	d.Step(2, protocol.Resign{Group: "g"}) // withdraws
	d.Run(100 * ms)
	d.Step(0, protocol.Transfer{Group: "g", To: 2, ID: 5})
	d.Step(0, protocol.Transfer{Group: "g", To: 0, ID: 6})
	d.Step(1, protocol.Transfer{Group: "g", To: 2, ID: 7})
	for r, id := range map[protocol.Rank]uint64{0: 5, 1: 7} {
		if a, ok := d.members[r].answer(id); !ok || a.OK || a.Leader.Rank != 0 {
			t.Errorf("answer %d: %+v", id, a)
		}
	}
	if a, ok := d.members[0].answer(6); !ok || a.OK {
		t.Errorf("to itself: %+v", a)
	}
	d.Run(100 * ms)
	d.expect("g", 0, true)
	if d.members[0].Views["g"].Stop {
		t.Error("the program was asked to stop for nothing")
	}
}

func TestIfTheSuccessorIsGoneOthersLeadAfterTwoRoundTrips(t *testing.T) {
	d := council3(t)
	d.Crash(2)
	from := d.Now
	d.Step(0, protocol.Transfer{Group: "g", To: 2, ID: 5})
	d.Run(300 * ms)
	d.expect("g", 1, true)
	if got := d.since(from, 1, "g"); got < 40*ms {
		t.Errorf("led after %v though another was named", got)
	}
	if a, ok := d.members[0].answer(5); !ok || a.OK {
		t.Errorf("answer %+v", a)
	}
}

// The successor's own request carries the release, so that it need not wait for the leader's to arrive everywhere.
func TestSuccessorCarriesTheRelease(t *testing.T) {
	d := council3(t)
	d.Drop = func(from, to protocol.Rank, m protocol.Message) bool {
		return from == 0 && to != 0 && m.Name() == "lease.Request"
	}
	from := d.Now
	d.Step(0, protocol.Transfer{Group: "g", To: 1, ID: 5})
	d.Run(20 * ms)
	if got := d.since(from, 1, "g"); got > 4*ms {
		t.Errorf("leads after %v", got)
	}
}

// Nothing is handed over under a program that may still act.
func TestHandoverWaitsForTheProgram(t *testing.T) {
	d := council3(t)
	d.members[0].obeys = false
	d.Step(0, protocol.Transfer{Group: "g", To: 1})
	d.Run(2 * time.Second)
	d.expect("g", 0, true)
	if !d.members[0].Views["g"].Stop {
		t.Error("the program was not asked to stop")
	}
	d.Step(0, protocol.Stopped{Group: "g"})
	d.Run(50 * ms)
	d.expect("g", 1, true)
}

func TestProgramThatReturnsByItselfResigns(t *testing.T) {
	d := council3(t)
	d.Step(0, protocol.Stopped{Group: "g"})
	d.Run(50 * ms)
	d.expect("g", 1, true)
	d.Run(time.Second)
	d.expect("g", 1, true) // and is not a candidate any more
	d.Crash(1)
	d.Run(500 * ms)
	d.expect("g", 2, true)
}

func TestHolderLearnsOfLaterCandidates(t *testing.T) {
	d := newDriver(t, config(3))
	d.campaign("g", 0)
	d.Run(100 * ms)
	d.Drop = func(_, _ protocol.Rank, m protocol.Message) bool {
		return m.Name() == "nerio.Candidates" && d.Sent["nerio.Candidates"] < 3
	}
	d.campaign("g", 2)
	d.Run(300 * ms)
	if l, _ := d.members[0].m.holder.Lease("g"); !l.Candidates.Has(2) || l.Candidates.Has(1) {
		t.Errorf("the leader knows of the candidates %v, want c", l.Candidates)
	}
	before := d.Sent["nerio.Candidates"]
	d.Run(time.Second)
	if d.Sent["nerio.Candidates"] != before {
		t.Error("said again though it was noted")
	}
	d.Step(2, protocol.Resign{Group: "g"})
	d.Run(100 * ms)
	if l, _ := d.members[0].m.holder.Lease("g"); l.Candidates.Has(2) {
		t.Error("the leader still counts on a candidate that withdrew")
	}
}

func TestEachTenureHasAHigherToken(t *testing.T) {
	d := newDriver(t, config(3))
	d.Run(100 * ms)
	for range 5 {
		d.campaign("g", 0)
		d.Run(300 * ms)
		d.expect("g", 0, true)
		d.Step(0, protocol.Resign{Group: "g"})
		d.Run(100 * ms)
	}
	if n := len(d.tenures["g"]); n != 5 {
		t.Errorf("%d tenures, want 5 of the same member, each with its own token", n)
	}
}

func TestFindIsAnsweredByAnyVoter(t *testing.T) {
	cfg := config(3)
	d := newDriver(t, cfg)
	d.campaign("g", 0)
	d.Run(100 * ms)
	d.Step(1, protocol.Find{Group: "g", ID: 1})
	if a, ok := d.members[1].answer(1); !ok || !a.OK || a.Leader.Rank != 0 || a.Term != 1 {
		t.Errorf("a voter's own knowledge: %+v", a)
	}
	d.Crash(2)
	d.again(cfg, 2) // knows nothing, and cannot vote for a while
	d.Run(10 * ms)
	d.Step(2, protocol.Find{Group: "g", ID: 2})
	d.Run(10 * ms)
	if a, ok := d.members[2].answer(2); !ok || !a.OK || a.Leader.Rank != 0 {
		t.Errorf("by asking: %+v", a)
	}
	d.Step(2, protocol.Find{Group: "nothing", ID: 3})
	d.Run(10 * ms)
	if a, ok := d.members[2].answer(3); !ok || a.OK || a.Leader != protocol.NoIdent {
		t.Errorf("all say that nobody leads: %+v", a)
	}
	d.Crash(0)
	d.Crash(1)
	d.Step(2, protocol.Find{Group: "nothing", ID: 4})
	d.Run(100 * ms)
	if a, ok := d.members[2].answer(4); !ok || a.OK {
		t.Errorf("nobody answers: %+v", a)
	}
}

// All others are asked, each is heard once, and those that do not answer are waited for no longer than two round trips.
func TestFindOfAllReportsWhatEachMemberSaid(t *testing.T) {
	d := newDriver(t, config(4))
	d.campaign("g", 0)
	d.Run(100 * ms)
	d.Step(1, protocol.Find{Group: "g", ID: 1, All: true})
	if _, ok := d.members[1].answer(1); ok {
		t.Error("it was answered before anybody was asked")
	}
	d.Run(10 * ms)
	said := func(id uint64) (by []protocol.Rank) {
		t.Helper()
		a, ok := d.members[1].answer(id)
		if !ok || !a.OK || a.Leader.Rank != 0 || a.Term != 1 {
			t.Errorf("the answer is %+v", a)
		}
		for _, s := range a.Said {
			by = append(by, s.By)
			if s.Leader.Rank != 0 || s.Term != 1 {
				t.Errorf("it has %+v", s)
			}
		}
		slices.Sort(by)
		return by
	}
	if by := said(1); !slices.Equal(by, []protocol.Rank{0, 2, 3}) {
		t.Errorf("these have said something: %v", by)
	}
	d.Crash(3)
	d.Step(1, protocol.Find{Group: "g", ID: 2, All: true})
	d.Run(10 * ms)
	if _, ok := d.members[1].answer(2); ok {
		t.Error("it was answered although a member had not answered yet")
	}
	d.Run(100 * ms)
	if by := said(2); !slices.Equal(by, []protocol.Rank{0, 2}) {
		t.Errorf("with one member dead these have said something: %v", by)
	}
}

// E-N1: the proof counts from the question, and ends.
func TestVerifiedUntilIsAfterTheQuestionByTheAnswer(t *testing.T) {
	d := newDriver(t, config(3))
	d.campaign("g", 0)
	d.Run(100 * ms)
	asked := d.Now
	d.Step(1, protocol.Verify{Group: "g", ID: 1, Length: 50 * ms})
	d.Run(10 * ms)
	rho := protocol.DefaultRho
	a, ok := d.members[1].answer(1)
	if want := asked.Add(rho.WaitAtMost(50 * ms)); !ok || !a.OK || a.Until != want || a.Leader.Rank != 0 || a.Term != 1 {
		t.Errorf("answer %+v, want until %v", a, want)
	}
	if d.members[1].count(protocol.EvVerify) != 1 {
		t.Error("no fact")
	}
	// E-N4: it stays that long, on its own clock, though it resigns at once.
	d.Step(0, protocol.Resign{Group: "g"})
	d.Run(a.Until.Sub(d.Now) - 1)
	d.expect("g", 0, false)
	d.Run(50 * ms)
	if l := d.leaders("g"); len(l) != 0 {
		t.Errorf("%v still leads", l)
	}
}

func TestVerifyOfWhoDoesNotLeadIsNoProof(t *testing.T) {
	d := newDriver(t, config(3))
	d.campaign("g", 0)
	d.Run(100 * ms)
	d.Step(1, protocol.Verify{Group: "h", ID: 1})
	if a, ok := d.members[1].answer(1); !ok || a.OK {
		t.Errorf("nobody leads: %+v", a)
	}
	d.members[0].obeys = false
	d.Step(0, protocol.Resign{Group: "g"})
	d.Step(1, protocol.Verify{Group: "g", ID: 2})
	d.Run(10 * ms)
	if a, ok := d.members[1].answer(2); !ok || a.OK || a.Until != 0 {
		t.Errorf("it was asked to stop: %+v", a)
	}
	d.Crash(0)
	d.Step(1, protocol.Verify{Group: "g", ID: 3})
	d.Run(100 * ms)
	if a, ok := d.members[1].answer(3); !ok || a.OK {
		t.Errorf("it is dead: %+v", a)
	}
}

func TestClosingMemberStopsDemotesReleasesAndNotes(t *testing.T) {
	d := council3(t)
	d.members[0].obeys = false
	d.Step(0, protocol.Close{})
	d.Run(500 * ms)
	d.expect("g", 0, true) // its program has not stopped
	if d.members[0].m.Closed() {
		t.Fatal("closed under its program")
	}
	d.Step(0, protocol.Stopped{Group: "g"})
	d.Run(400 * ms)
	d.expect("g", 1, false)
	if !d.members[0].m.Closed() {
		t.Error("not closed though its program has stopped")
	}
	d.Step(0, protocol.Campaign{Group: "g"})
	d.Step(0, protocol.Close{})
	d.Run(time.Second)
	if d.members[0].count(protocol.EvAttempt) > 1 {
		t.Error("a member that is leaving tries")
	}
}

// A voter leaves at once, whatever it has promised. Its record says for how long that stands, and the next start waits for that long.
func TestAVoterLeavesAtOnceAndTheNextStartWaits(t *testing.T) {
	cfg := mixed(3)
	d := newDriver(t, cfg)
	d.Step(0, protocol.Campaign{Group: "slow", Length: 2 * time.Second})
	d.Run(time.Second)
	d.expect("slow", 0, true)
	stands := d.members[1].m.grantor.Promised()
	d.Step(1, protocol.Close{})
	d.Run(20 * ms)
	rec := d.disk0(1)
	if !d.members[1].m.Closed() || !rec.Clean {
		t.Fatalf("closed %v, note %v", d.members[1].m.Closed(), rec.Clean)
	}
	left := stands.Sub(d.Now)
	if rec.Promised < left || rec.Promised > left+100*ms || rec.Ceiling != d.members[1].m.terms.Used {
		t.Errorf("the record has %v and the ceiling %d: promises stand for %v, and %d was used", rec.Promised, rec.Ceiling, left, d.members[1].m.terms.Used)
	}
	d.Crash(1)
	d.again(cfg, 1)
	d.Run(20 * ms)
	if votes := d.members[1].m.Votes(); votes < stands || votes > d.Now.Add(left+100*ms) {
		t.Errorf("votes again at %v: what it promised stands until %v", votes, stands)
	}
	d.expect("slow", 0, false)
}

// What the heir releases is what it was handed: a higher term would end the next tenure of its predecessor, too.
func TestHeirReleasesNoMoreThanItWasHanded(t *testing.T) {
	d := council3(t)
	var handed uint64
	carried := 0
	d.Drop = func(from, _ protocol.Rank, m protocol.Message) bool {
		switch m := m.(type) {
		case *Handover:
			handed = m.Term
		case *lease.Request:
			for _, r := range m.Releases {
				if from == 1 && r.Of.Rank == 0 {
					carried++
					if r.Term != handed {
						t.Errorf("the heir releases up to term %d: it was handed %d", r.Term, handed)
					}
				}
			}
		}
		return false
	}
	d.Step(0, protocol.Resign{Group: "g"})
	d.Run(100 * ms)
	d.expect("g", 1, true)
	if carried == 0 {
		t.Error("the heir carried no release")
	}
}

// A follower that heard nothing while the leader resigned and was elected again learns its new term.
func TestFollowerLearnsTheNewTermOfTheSameLeader(t *testing.T) {
	d := newDriver(t, config(3))
	d.Run(100 * ms)
	d.campaign("g", 0)
	d.Run(100 * ms)
	d.expect("g", 0, true)
	before := d.members[2].Views["g"].Term
	d.Drop = func(from, to protocol.Rank, _ protocol.Message) bool {
		leads := d.leaders("g")
		return from == 0 && to == 2 && (len(leads) == 0 || d.members[0].Views["g"].Term == before)
	}
	d.Step(0, protocol.Resign{Group: "g"})
	d.Run(5 * ms)
	d.campaign("g", 0)
	d.Run(150 * ms)
	d.expect("g", 0, true)
	leads, follows := d.members[0].Views["g"].Term, d.members[2].Views["g"].Term
	if leads <= before || follows != leads {
		t.Errorf("a led with term %d and leads with %d: c believes %d", before, leads, follows)
	}
	for _, v := range d.members[2].History {
		if v.Leader == protocol.NoIdent && v.Cause.Code != protocol.Started {
			t.Errorf("c saw %v: the test wants a change of the term alone", v)
		}
	}
}
