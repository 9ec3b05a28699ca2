package tenant

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// A driver steps a machine and keeps what it asked for last.
type driver struct {
	*testing.T
	m   *Machine
	now protocol.Time
	out protocol.Effects
}

func drive(t *testing.T) *driver {
	return &driver{T: t, m: New(Config{Length: 5 * time.Second, Retry: time.Second}), now: 100}
}

func (d *driver) step(ev protocol.Event) {
	d.out.Reset()
	d.m.Step(d.now, ev, &d.out)
}

func (d *driver) report(r Report) {
	r.Group = "g"
	d.step(&protocol.Receive{From: protocol.Ident{Rank: Engine}, Message: &r})
}

// asked returns the only request of the last step.
func (d *driver) asked() *Request {
	d.Helper()
	if len(d.out.Send) != 1 {
		d.Fatalf("%d requests: %+v", len(d.out.Send), d.out.Send)
	}
	return d.out.Send[0].Message.(*Request)
}

// view returns the last view of the last step.
func (d *driver) view() *protocol.View {
	d.Helper()
	if len(d.out.Views) == 0 {
		d.Fatal("no view")
	}
	return &d.out.Views[len(d.out.Views)-1]
}

// elected returns a driver whose member leads until 5,000, and the number of the attempt.
func elected(t *testing.T) (*driver, uint64) {
	d := drive(t)
	d.step(protocol.Campaign{Group: "g"})
	try := d.asked().Try
	d.report(Report{Kind: Won, Try: try, Token: 7, Until: 5000})
	if v := d.view(); v.Leader != me || v.Term != 7 || v.Tenure != try || len(d.out.Horizons) != 1 || d.out.Horizons[0].Until != 5000 || d.out.Wake != 5000 {
		t.Fatalf("view %+v, horizons %v, wake %v", v, d.out.Horizons, d.out.Wake)
	}
	return d, try
}

func TestNothingIsReleasedBeforeTheProgramHasStopped(t *testing.T) {
	d, _ := elected(t)
	d.step(protocol.Resign{Group: "g"})
	if len(d.out.Send) != 0 || !d.view().Stop {
		t.Fatalf("requests %v, view %+v", d.out.Send, d.view())
	}
	d.report(Report{Kind: Moved, Try: 1, Until: 6000})
	if len(d.out.Horizons) != 1 {
		t.Error("the lease of a program that stops is not renewed")
	}
	d.step(protocol.Stopped{Group: "g"})
	if r := d.asked(); r.Action != Release || d.view().Leader != protocol.NoIdent {
		t.Errorf("request %+v, view %+v", r, d.view())
	}
}

func TestALeadershipEndsWithItsDeadline(t *testing.T) {
	d, _ := elected(t)
	d.now = 4999
	d.step(protocol.Tick{})
	if len(d.out.Views) != 0 {
		t.Fatal("ended before its deadline")
	}
	d.now = 5000
	d.report(Report{Kind: Moved, Try: 1, Until: 9000}) // too late
	if v := &d.out.Views[0]; v.Leader != protocol.NoIdent || v.Cause.Code != protocol.LeaseExpired {
		t.Errorf("view %+v", v)
	}
	if len(d.out.Horizons) != 0 {
		t.Error("a lease that was over was renewed")
	}
	if r := d.out.Send[0].Message.(*Request); r.Action != LetRunOut {
		t.Errorf("request %+v: its program may still act", r)
	}
}

func TestAFrozenLeaseDoesNotMove(t *testing.T) {
	d, try := elected(t)
	d.step(protocol.Lapse{Group: "g", Tenure: try, Why: protocol.Unhealthy})
	if r := d.asked(); r.Action != LetRunOut || d.view().Until != 5000 || !d.view().Stop {
		t.Errorf("request %+v, view %+v", r, d.view())
	}
	d.report(Report{Kind: Moved, Try: try, Until: 9000})
	if len(d.out.Horizons) != 0 {
		t.Error("a renewal that was under way moved it")
	}
}

func TestALeadershipThatCameTooLateIsGivenBack(t *testing.T) {
	d := drive(t)
	d.step(protocol.Campaign{Group: "g"})
	try := d.asked().Try
	d.now = 6000
	d.report(Report{Kind: Won, Try: try, Token: 7, Until: 5000})
	if r := d.out.Send[0].Message.(*Request); r.Action != Release || len(d.out.Views) != 0 {
		t.Errorf("request %+v, views %v", r, d.out.Views)
	}
}

func TestReportsOfAnEarlierAttemptAreDropped(t *testing.T) {
	d := drive(t)
	d.step(protocol.Campaign{Group: "g"})
	d.step(protocol.Campaign{Group: "g", Value: "x"})
	if len(d.out.Send) != 2 || d.out.Send[0].Message.(*Request).Action != Cancel {
		t.Fatalf("%+v", d.out.Send)
	}
	d.report(Report{Kind: Won, Try: 1, Token: 7, Until: 5000})
	if len(d.out.Views) != 0 {
		t.Errorf("leads by an attempt that was cancelled: %+v", d.out.Views)
	}
}

func TestAMemberThatIsUnfitTriesNothing(t *testing.T) {
	d := drive(t)
	d.step(protocol.Health{})
	d.step(protocol.Campaign{Group: "g"})
	if len(d.out.Send) != 0 {
		t.Errorf("%+v", d.out.Send)
	}
	d.step(protocol.Health{OK: true})
	if r := d.asked(); r.Action != Try {
		t.Errorf("%+v", r)
	}
	d.step(protocol.Close{})
	if r := d.asked(); r.Action != Cancel || !d.m.Closed() {
		t.Errorf("%+v, closed %v", r, d.m.Closed())
	}
}

func TestACampaignThatFailedIsTriedAgainLater(t *testing.T) {
	d := drive(t)
	d.step(protocol.Campaign{Group: "g"})
	d.report(Report{Kind: Failed, Try: 1})
	if len(d.out.Send) != 0 || d.out.Wake != d.now.Add(time.Second) {
		t.Fatalf("requests %v, wake %v", d.out.Send, d.out.Wake)
	}
	d.now = d.out.Wake
	d.step(protocol.Tick{})
	if r := d.asked(); r.Action != Try || r.Try != 2 {
		t.Errorf("%+v", r)
	}
}

func TestLeadersElsewhereAreShown(t *testing.T) {
	d := drive(t)
	sight := func(s Sight) {
		s.Group = "g"
		d.step(&protocol.Receive{From: protocol.Ident{Rank: Engine}, Message: &s})
	}
	sight(Sight{Leader: 4, Token: 9, Value: "v"})
	if v := d.view(); v.Leader.Rank != 4 || v.Term != 9 || v.Value.Text != "v" || v.Tenure != 0 {
		t.Errorf("%+v", v)
	}
	sight(Sight{Leader: protocol.Nobody, Free: true})
	if v := d.view(); v.Leader != protocol.NoIdent || v.Cause.Code != protocol.Resigned {
		t.Errorf("%+v", v)
	}
	sight(Sight{Leader: Self, Token: 9})
	if len(d.out.Views) != 0 {
		t.Errorf("a leadership of this member is shown by a sight: %+v", d.out.Views)
	}
}
