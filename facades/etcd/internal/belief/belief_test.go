package belief

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

const ms = time.Millisecond

func TestTTLs(t *testing.T) {
	for _, c := range []struct {
		name                       string
		lease, guard, renew, asked time.Duration
		want                       time.Duration
	}{
		{"the default of profile lan", 5 * time.Second, 20 * ms, 1250 * ms, time.Minute, 2 * time.Second},
		{"the default of profile wan", 5 * time.Second, 200 * ms, 1000 * ms, time.Minute, 2 * time.Second},
		{"guard and renew of exactly 1.5 s", 5 * time.Second, 500 * ms, 1000 * ms, time.Minute, 2 * time.Second},
		{"guard and renew beyond that", 5 * time.Second, 501 * ms, 1000 * ms, time.Minute, time.Second},
		{"an engine's default", 5 * time.Second, 500 * ms, 1500 * ms, time.Minute, time.Second},
		{"a short lease", 200 * ms, 20 * ms, 50 * ms, time.Minute, 0},
		{"a long lease", 30 * time.Second, 20 * ms, 7500 * ms, time.Minute, 20 * time.Second},
		{"less than that is asked for", 30 * time.Second, 20 * ms, 7500 * ms, 3 * time.Second, 3 * time.Second},
	} {
		if got := Granted(c.asked, Allowed(c.lease, c.guard, c.renew)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if Slack != 1500*ms || Shortest != 2*time.Second {
		t.Errorf("the slack is %v and the shortest TTL %v: the documentation says otherwise", Slack, Shortest)
	}
}

// at returns an instant of the tests.
func at(d time.Duration) protocol.Time { return protocol.Time(time.Hour) + protocol.Time(d) }

var (
	answered = Answer{Give: true, TTL: 2 * time.Second}
	marking  = Answer{Give: true, TTL: 2 * time.Second, End: true}
	refused  = Answer{}
	over     = Answer{Give: true}
)

// A step is a keep-alive, or with Do something else.
type step struct {
	at    time.Duration
	by    Stream
	limit protocol.Time
	want  Answer
	do    func(s *Session)
	// ready is what Ready answers then.
	ready bool
}

func TestKeepAlives(t *testing.T) {
	first, second, third := Stream{1, 1}, Stream{1, 2}, Stream{1, 3}
	begun := []step{
		{at: 0, by: first, limit: protocol.Never, want: marking},
		{at: 700 * ms, by: second, limit: protocol.Never, want: answered, ready: true},
	}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"a second one of the same stream proves nothing", []step{
			{at: 0, by: first, limit: protocol.Never, want: marking},
			{at: 500 * ms, by: first, limit: protocol.Never, want: answered},
			{at: 1000 * ms, by: first, limit: protocol.Never, want: answered},
			{at: 1500 * ms, by: second, limit: protocol.Never, want: answered, ready: true},
		}},
		{"the next stream of another connection proves nothing, and is ended in turn", []step{
			{at: 0, by: first, limit: protocol.Never, want: marking},
			{at: 500 * ms, by: Stream{2, 7}, limit: protocol.Never, want: marking},
			{at: 1000 * ms, by: second, limit: protocol.Never, want: marking},
			{at: 1500 * ms, by: third, limit: protocol.Never, want: answered, ready: true},
		}},
		{"a stream that its client ended proves nothing", []step{
			{at: 0, by: first, limit: protocol.Never, want: marking},
			{at: 1 * ms, do: func(s *Session) { s.Broke(first) }},
			{at: 500 * ms, by: second, limit: protocol.Never, want: marking},
			{at: 1000 * ms, by: third, limit: protocol.Never, want: answered, ready: true},
		}},
		{"exactly enough is left", append(begun, step{at: 1000 * ms, by: second, limit: at(4500 * ms), want: answered, ready: true})},
		{"too little is left", append(begun, step{at: 1000 * ms, by: second, limit: at(4500*ms - 1), want: refused, ready: true})},
		{"it must stop", append(begun, step{at: 1000 * ms, do: (*Session).Stop}, step{at: 1000 * ms, by: second, limit: protocol.Never, want: refused})},
		{"it stopped, and the client does not believe any more", append(begun, step{at: 1000 * ms, do: (*Session).Stop},
			step{at: 4200*ms - 1, by: second, limit: protocol.Never, want: refused}, step{at: 4200 * ms, by: second, limit: protocol.Never, want: over})},
		{"it was silent", append(begun, step{at: 4200 * ms, by: second, limit: protocol.Never, want: over})},
		{"its client ended it", append(begun, step{at: 1000 * ms, do: (*Session).Finish}, step{at: 1000 * ms, by: second, limit: protocol.Never, want: over})},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New(at(0), 2*time.Second)
			for i, x := range c.steps {
				if x.do != nil {
					x.do(s)
				} else if got := s.KeepAlive(at(x.at), x.by, x.limit); got != x.want {
					t.Errorf("step %d: %+v, want %+v", i, got, x.want)
				}
				if got := s.Ready(at(x.at)); got != x.ready {
					t.Errorf("step %d: ready is %v", i, got)
				}
			}
		})
	}
}

// A session that has longer TTLs than a group allows leads it only once the client has read a shorter one.
func TestALongTTLIsOverBeforeAGroupIsLed(t *testing.T) {
	s := New(at(0), time.Minute)
	s.KeepAlive(at(0), Stream{1, 1}, protocol.Never)
	s.KeepAlive(at(time.Second), Stream{1, 2}, protocol.Never)
	if !s.Ready(at(time.Second)) {
		t.Fatal("not ready")
	}
	s.Limit(2 * time.Second)
	if s.Ready(at(time.Second)) || s.MayLead(at(time.Second), at(5*time.Second)) {
		t.Error("ready while the client believes for a minute")
	}
	if a := s.KeepAlive(at(2*time.Second), Stream{1, 2}, protocol.Never); a != marking || s.Ready(at(2*time.Second)) {
		t.Errorf("%+v, ready before the client is proven to have read that", a)
	}
	if a := s.KeepAlive(at(3*time.Second), Stream{1, 3}, protocol.Never); a != answered || !s.Ready(at(3*time.Second)) {
		t.Errorf("%+v, and not ready after the proof", a)
	}
	if !s.MayLead(at(3*time.Second), at(6500*ms)) || s.MayLead(at(3*time.Second), at(6500*ms-1)) {
		t.Error("a campaign is answered exactly while the client does not believe beyond the lease")
	}
}
