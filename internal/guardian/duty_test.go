package guardian

import (
	"errors"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

const second = protocol.Time(time.Second)

// play runs a duty in virtual time from the proof of the death on, and returns when it sends.
func play(t *testing.T, d *Duty, now protocol.Time, s *Statement, wrong error) (sent []protocol.Time) {
	t.Helper()
	for range 100 {
		do, at := d.Next(now, s, wrong, 0)
		switch do {
		case End:
			return sent
		case Send:
			sent = append(sent, now)
		}
		if at < now {
			t.Fatalf("at %v it waits until %v", now, at)
		}
		now = at
	}
	t.Fatal("it does not end")
	return nil
}

func TestReportLeavesTenTimesInFiftyMilliseconds(t *testing.T) {
	sent := play(t, &Duty{}, second, &Statement{Mode: WithinProcess}, nil)
	if len(sent) != 10 || sent[0] != second || sent[9].Sub(sent[0]) > 50*time.Millisecond || sent[9].Sub(sent[0]) < 40*time.Millisecond {
		t.Errorf("sent at %v", sent)
	}
}

func TestNoReportBeforeAProofHasExpired(t *testing.T) {
	const skew = time.Millisecond
	until := second.Add(300 * time.Millisecond)
	sent := play(t, &Duty{Skew: skew}, second, &Statement{Mode: WithinProcess, Proof: until}, nil)
	if len(sent) != 10 || sent[0] <= until.Add(skew) || sent[0] > until.Add(2*skew) {
		t.Errorf("sent at %v, the proof is believed until %v", sent, until)
	}
}

// A clock that is read early, by however little, does not let a report out.
func TestNoReportAtTheLastInstantOfAProof(t *testing.T) {
	s := &Statement{Mode: WithinProcess, Proof: second}
	d := &Duty{}
	if do, at := d.Next(second, s, nil, 0); do != Wait || at != second+1 {
		t.Errorf("got %v until %v", do, at)
	}
	if do, _ := d.Next(second+1, s, nil, 0); do != Send {
		t.Errorf("got %v once the proof has expired", do)
	}
}

func TestNothingIsReportedThatIsNotKnown(t *testing.T) {
	for name, c := range map[string]struct {
		s     Statement
		wrong error
	}{
		"no statement":         {s: Statement{}},
		"the member has left":  {s: Statement{Mode: Closed}},
		"a torn page":          {s: Statement{Mode: WithinProcess}, wrong: errTorn},
		"too many kept groups": {s: Statement{Mode: WithinProcess}, wrong: errors.New("full")},
		"a proof for long":     {s: Statement{Mode: WithinProcess, Proof: 100 * second}},
	} {
		if sent := play(t, &Duty{}, second, &c.s, c.wrong); len(sent) > 0 {
			t.Errorf("%s: sent at %v", name, sent)
		}
	}
}

// A guardian that was held up sends what is left, and does not stay longer than that takes.
func TestLateGuardianSendsTheRest(t *testing.T) {
	s := &Statement{Mode: WithinProcess}
	d := &Duty{}
	d.Next(second, s, nil, 0)
	if sent := play(t, d, 2*second, s, nil); len(sent) != 9 || sent[8] != 2*second {
		t.Errorf("sent at %v", sent)
	}
}
