package nerio

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/balance"
	"github.com/regentproject/regent/internal/protocol/record"
)

// A member restarts, and is the only voter that is left before it has heard from any other: it waits for what it promised, and votes.
func TestRestartedMemberThatIsLeftAloneVotes(t *testing.T) {
	cfg := Config{Me: 0, Quorums: protocol.Majority(2), RoundTrip: 20 * time.Millisecond, Lease: 200 * time.Millisecond, Longest: 250 * time.Millisecond,
		Renew: 50 * time.Millisecond, Rho: protocol.DefaultRho, Guarded: true}
	rec := record.Record{Inc: 3, Longest: cfg.Longest, Promised: cfg.Longest}
	m, err := New(cfg, rec.Append(nil), 1)
	if err != nil {
		t.Fatal(err)
	}
	now := protocol.Time(time.Second)
	var out protocol.Effects
	step := func(ev protocol.Event) {
		m.Step(now, ev, &out)
		if len(out.Persist) > 0 {
			out.Reset()
			m.Step(now, protocol.Persisted{}, &out)
		}
		out.Reset()
	}
	step(protocol.Start{})
	if m.Promised() != protocol.Never {
		t.Fatalf("it has promised until %v before it has heard from anybody", m.Promised())
	}
	cfg.Quorums, cfg.Epoch = protocol.MajorityOf(2, protocol.NewSet(0)), 1
	m.Adopt(now, cfg, 0, &out)
	step(protocol.Tick{})
	if at := m.Promised(); at < now.Add(cfg.Longest) || at == protocol.Never {
		t.Errorf("C-LIVE: it has promised until %v", at)
	}
}

// A member without a record goes on to a configuration that the others have not adopted yet. Their answers are of the one before, so it
// asks them again.
func TestLostMemberAsksAgainThoseThatWereBehind(t *testing.T) {
	cfg := Config{Me: 1, Quorums: protocol.Majority(3), RoundTrip: 20 * time.Millisecond, Lease: 200 * time.Millisecond, Longest: 250 * time.Millisecond,
		Renew: 50 * time.Millisecond, Rho: protocol.DefaultRho, Guarded: true, Epoch: 6}
	m, err := New(cfg, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	now := protocol.Time(time.Second)
	var out protocol.Effects
	var asked []protocol.Rank
	step := func(ev protocol.Event) {
		out.Reset()
		m.Step(now, ev, &out)
		for _, e := range out.Send {
			if _, ok := e.Message.(*Recover); ok {
				asked = append(asked, e.To)
			}
		}
		if len(out.Persist) > 0 {
			out.Reset()
			m.Step(now, protocol.Persisted{}, &out)
		}
	}
	answer := func(epoch uint64) {
		for _, r := range []protocol.Rank{0, 2} {
			life := protocol.Life{Inc: 10, Start: protocol.StartBits{byte(r) + 1}}
			k := &Known{State: Speaks, Nonce: m.start.nonce, Epoch: epoch, Longest: cfg.Longest, Sender: life}
			step(&protocol.Receive{From: protocol.Ident{Rank: r, Inc: life.Inc}, Message: k})
		}
	}
	step(protocol.Start{})
	answer(6)
	now = now.Add(time.Second)
	step(protocol.Tick{})
	cfg.Epoch = 7
	m.Adopt(now, cfg, 0, &out)
	step(protocol.Tick{})
	answer(6)
	m.Recovered(0)
	asked = nil
	step(protocol.Tick{})
	if len(asked) != 2 {
		t.Fatalf("C-LIVE: it asks %v again", asked)
	}
	answer(7)
	if !m.speaks() {
		t.Error("C-LIVE: it does not take part again")
	}
}

// A newcomer has candidates before it may lead, and leaders know of them. It joins once it may lead: then they hand over to it.
func TestMemberJoinsWhenItMayLead(t *testing.T) {
	order := balance.Order{{Seed: 1}, {Seed: 2}, {Seed: 3}, {Seed: 4}}
	cfg := Config{Me: 3, Quorums: protocol.MajorityOf(4, protocol.NewSet(0, 1, 2)), RoundTrip: 20 * time.Millisecond, Lease: 200 * time.Millisecond, Longest: 250 * time.Millisecond,
		Renew: 50 * time.Millisecond, Rho: protocol.DefaultRho, Guarded: true, Balance: order}
	m, err := New(cfg, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	now := protocol.Time(time.Second)
	var out protocol.Effects
	m.Step(now, protocol.Start{}, &out)
	m.Step(now, protocol.Campaign{Group: "g"}, &out)
	s := m.groups["g"]
	s.joined = false // a leader has taken note of that
	cfg.Epoch = 1
	m.Adopt(now, cfg, 0, &out)
	if s.joined {
		t.Error("N-STAB (joins): a step by which a member may not lead has it join")
	}
	cfg.Quorums, cfg.Epoch = protocol.Majority(4), 2
	m.Adopt(now, cfg, 0, &out)
	if !m.hasJoined(s) {
		t.Error("N-STAB (joins): a newcomer that may lead has not joined, and gets no group")
	}
	s.joined = false
	cfg.Epoch = 3
	m.Adopt(now, cfg, 0, &out)
	if s.joined {
		t.Error("N-STAB (joins): a member that may lead joins with every step")
	}
}

// R12: a leader that is to lose its vote hands over once the others have taken the step, too: in the middle of it its heir is refused by members that are ahead.
func TestLeavingLeaderHandsOverAfterTheStep(t *testing.T) {
	d := council3(t)
	var out protocol.Effects
	for _, x := range d.members {
		c := x.m.cfg
		c.Epoch, c.Leaving = 1, protocol.NewSet(0)
		x.m.Adopt(d.Now, c, 0, &out)
		d.Step(x.Rank, protocol.Tick{})
	}
	d.Run(60 * ms)
	if !d.leads(0, "g") {
		t.Fatal("R12: it hands over in the middle of the step")
	}
	d.Run(60 * ms)
	d.expect("g", 1, true)
}
