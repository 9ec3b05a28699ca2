package drive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/drive"
	"github.com/regentproject/regent/internal/protocol/drive/drivetest"
)

// puppet is a machine that asks for what a test wants next.
type puppet struct {
	next  protocol.Effects
	inc   protocol.Inc // that it has after its next Step
	knows protocol.Inc
	reuse word // the one message that it ever sends, overwritten at each Step
}

func (p *puppet) Step(_ protocol.Time, _ protocol.Event, out *protocol.Effects) {
	p.knows, p.reuse.text = p.inc, "overwritten"
	for i := range p.next.Send {
		p.reuse.text = p.next.Send[i].Message.(*word).text
		p.next.Send[i].Message = &p.reuse
	}
	drivetest.Append(out, p.next)
	p.next = protocol.Effects{Wake: protocol.Never}
}

func (p *puppet) Incarnation() protocol.Inc { return p.knows }
func (p *puppet) Votes() protocol.Time      { return protocol.Time(p.knows) }

type word struct{ text string }

func (w *word) Name() string           { return "word" }
func (w *word) Copy() protocol.Message { c := *w; return &c }

func say(text string, durable bool) []protocol.Envelope {
	return []protocol.Envelope{{To: 1, Message: &word{text}, Durable: durable}}
}

// host notes what it is asked to do. Its hooks, if there are any, see the world as it is at that instant.
type host struct {
	*puppet
	plain   bool // the machine is not asked for its incarnation
	log     []string
	inc     protocol.Inc
	as      protocol.Inc
	leads   bool
	records int // on their way to the disk
	held    drive.Held[protocol.Message]
	asked   uint64
	do      func(what string)
}

func (h *host) note(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	h.log = append(h.log, line)
	if h.do != nil {
		h.do(line)
	}
}

func (h *host) Machine() (protocol.Machine, protocol.Incarnate) {
	if h.plain {
		return h.puppet, nil
	}
	return h.puppet, h.puppet
}
func (h *host) As(_ protocol.Time, inc protocol.Inc) { h.as = inc }
func (h *host) View(_ protocol.Time, v *protocol.View) {
	h.leads = v.Leader.Rank == 0
	h.note("view %s", v.Group)
}
func (h *host) Horizon(_ protocol.Time, x protocol.Horizon) { h.note("horizon %d", x.ID) }
func (h *host) Published(protocol.Time)                     { h.note("published") }
func (h *host) Persist(_ protocol.Time, record []byte) {
	h.asked++
	h.records++
	h.note("persist %s", record)
}
func (h *host) Writing() bool                              { return h.records > 0 }
func (h *host) Answer(_ protocol.Time, a *protocol.Answer) { h.note("answer %d", a.ID) }
func (h *host) Wake(_, at protocol.Time)                   { h.note("wake %d", at) }
func (h *host) Facts(_ protocol.Time, facts []protocol.Fact) {
	h.note("%d facts as %d", len(facts), h.as)
}
func (h *host) Incarnation(_ protocol.Time, inc protocol.Inc, votes protocol.Time) {
	h.inc = inc
	h.note("incarnation %d, votes at %d", inc, votes)
}
func (h *host) Hold(_ protocol.Time, to protocol.Rank, m protocol.Message) {
	h.held.Add(h.asked, m)
	h.note("hold %s for %v", m.(*word).text, to)
}
func (h *host) Send(_ protocol.Time, out []protocol.Envelope) {
	for i := range out {
		h.note("send %s to %v as %d", out[i].Message.(*word).text, out[i].To, h.inc)
	}
}

var (
	mine   = protocol.View{Group: "g", Leader: protocol.Ident{Rank: 0, Inc: 1}}
	nobody = protocol.View{Group: "g", Leader: protocol.NoIdent}
)

func newHost() *host { return &host{puppet: &puppet{}} }

// step lets the machine ask for something.
func (h *host) step(e protocol.Effects) {
	h.puppet.next = e
	(&drive.Executor{}).Step(h, 1, protocol.Tick{})
}

func TestEffectsAreCarriedOutInOrder(t *testing.T) {
	h := newHost()
	h.puppet.inc = 4
	h.step(protocol.Effects{Facts: make([]protocol.Fact, 2), Wake: 9, Answers: []protocol.Answer{{ID: 3}},
		Send: say("x", false), Persist: []byte("r"), Horizons: []protocol.Horizon{{ID: 7}}, Views: []protocol.View{mine, nobody}})
	want := "view g, view g, horizon 7, published, persist r, incarnation 4, votes at 4, send x to b as 4, answer 3, wake 9, 2 facts as 4"
	if got := strings.Join(h.log, ", "); got != want {
		t.Errorf("TestEffectsAreCarriedOutInOrder:\n got %s\nwant %s", got, want)
	}
}

func TestAStepThatAsksForNothingIsOnlyWokenAgain(t *testing.T) {
	h := newHost()
	h.plain = true
	h.step(protocol.Effects{Wake: 5})
	if want := []string{"wake 5"}; !slices.Equal(h.log, want) {
		t.Errorf("got %q, want %q", h.log, want)
	}
}

// Two leases lie behind one horizon. The first gets an end of its own in the Step in which the horizon moves.
func TestAHorizonDoesNotMoveALeaseThatAViewTakesOut(t *testing.T) {
	h := newHost()
	behind, fixed, horizon := true, protocol.Time(100), protocol.Time(100)
	h.do = func(what string) {
		switch what {
		case "view g":
			behind = false
		case "horizon 1":
			horizon = 200
		}
		if behind && horizon > fixed {
			t.Errorf("TestAHorizonDoesNotMoveALeaseThatAViewTakesOut: it ends at %v after %q, want %v", horizon, what, fixed)
		}
	}
	h.step(protocol.Effects{Views: []protocol.View{mine}, Horizons: []protocol.Horizon{{ID: 1, Until: 200}}})
}

// Who waits for the incarnation reads the views next.
func TestALeaderWithoutIncarnationIsNotSeen(t *testing.T) {
	h := newHost()
	h.puppet.inc = 3
	h.step(protocol.Effects{Views: []protocol.View{mine}})
	h.do = func(what string) {
		if h.leads && h.inc == 0 {
			t.Errorf("TestALeaderWithoutIncarnationIsNotSeen: it leads as nobody after %q", what)
		}
	}
	h.puppet.inc = 0
	h.step(protocol.Effects{Views: []protocol.View{nobody}})
}

// A release lets b lead, which shows it at once.
func TestALossIsPublishedBeforeTheReleaseLeaves(t *testing.T) {
	a, b := newHost(), newHost()
	a.step(protocol.Effects{Views: []protocol.View{mine}})
	a.do = func(what string) {
		if !strings.HasPrefix(what, "send") {
			return
		}
		b.step(protocol.Effects{Views: []protocol.View{mine}})
		if a.leads && b.leads {
			t.Error("TestALossIsPublishedBeforeTheReleaseLeaves: two members lead")
		}
	}
	a.step(protocol.Effects{Views: []protocol.View{nobody}, Send: say("release", false)})
	if !b.leads {
		t.Error("nothing was released")
	}
}

func TestAnAnswerIsNotAheadOfTheView(t *testing.T) {
	h := newHost()
	h.step(protocol.Effects{Views: []protocol.View{mine}})
	h.do = func(what string) {
		if what == "answer 1" && h.leads {
			t.Error("TestAnAnswerIsNotAheadOfTheView: transferred, and the view shows the leader of before")
		}
	}
	h.step(protocol.Effects{Views: []protocol.View{nobody}, Answers: []protocol.Answer{{ID: 1, OK: true}}})
}

func TestADurableMessageWaitsForTheRecordOfItsStep(t *testing.T) {
	h := newHost()
	h.step(protocol.Effects{Persist: []byte("r"), Send: say("promise", true)})
	if want := "hold promise for b"; h.log[2] != want {
		t.Fatalf("TestADurableMessageWaitsForTheRecordOfItsStep: %q, want %q", h.log, want)
	}
	h.step(protocol.Effects{Send: say("news", false)}) // the machine uses its message again, and does not wait
	if want := "send news to b as 0"; h.log[5] != want {
		t.Errorf("%q, want %q", h.log, want)
	}
	if m, ok := h.held.Take(1); !ok || m.(*word).text != "promise" {
		t.Errorf("TestADurableMessageWaitsForTheRecordOfItsStep: what was held is %+v", m)
	}
	h.records, h.log = 0, nil
	h.step(protocol.Effects{Send: say("promise", true)})
	if h.log[1] != "send promise to b as 0" {
		t.Errorf("with everything on disk: %q", h.log)
	}
}

func TestAMessageBearsTheIncarnationAfterItsStep(t *testing.T) {
	h := newHost()
	for _, inc := range []protocol.Inc{0, 3, 0, 5} {
		h.log, h.puppet.inc = nil, inc
		h.step(protocol.Effects{Send: say("recover", false)})
		if want := fmt.Sprintf("send recover to b as %d", inc); h.log[1] != want {
			t.Errorf("TestAMessageBearsTheIncarnationAfterItsStep: %q, want %q", h.log[1], want)
		}
	}
}

func TestFactsAreOfTheIncarnationThatTheStepWasTakenUnder(t *testing.T) {
	h := newHost()
	for _, step := range []struct{ after, as protocol.Inc }{{0, 0}, {3, 3}, {3, 3}, {0, 3}, {0, 0}, {5, 5}, {6, 5}} {
		h.puppet.inc = step.after
		h.step(protocol.Effects{Facts: make([]protocol.Fact, 1)})
		if want := fmt.Sprintf("1 facts as %d", step.as); h.log[len(h.log)-1] != want {
			t.Errorf("%q, want %q", h.log[len(h.log)-1], want)
		}
	}
}

func TestAHostThatStepsWithinAStepIsStopped(t *testing.T) {
	var x drive.Executor
	h := newHost()
	h.do = func(string) { x.Step(h, 2, protocol.Tick{}) }
	defer func() {
		if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), "OneStepAtATime") {
			t.Errorf("recovered %v", r)
		}
	}()
	x.Step(h, 1, protocol.Tick{})
}

func TestWhatIsHeldComesInOrderAndOnce(t *testing.T) {
	var h drive.Held[string]
	take := func(done uint64) (all []string) {
		for s, ok := h.Take(done); ok; s, ok = h.Take(done) {
			all = append(all, s)
		}
		return all
	}
	h.Add(1, "a")
	h.Add(1, "b")
	h.Add(3, "c")
	if got := take(0); got != nil || h.Len() != 3 {
		t.Errorf("with nothing on disk: %v, %d left", got, h.Len())
	}
	if got := take(2); !slices.Equal(got, []string{"a", "b"}) || h.Len() != 1 {
		t.Errorf("with two records on disk: %v, %d left", got, h.Len())
	}
	h.Add(4, "d")
	if got := take(4); !slices.Equal(got, []string{"c", "d"}) || h.Len() != 0 {
		t.Errorf("with all on disk: %v, %d left", got, h.Len())
	}
	h.Add(5, "e")
	h.Clear()
	if got := take(9); got != nil {
		t.Errorf("after a crash: %v", got)
	}
}

// idle is a machine that sends one message over and over, and its own host.
type idle struct {
	drive.Ignore
	m word
}

func (i *idle) Step(_ protocol.Time, _ protocol.Event, out *protocol.Effects) {
	out.Views = append(out.Views, protocol.View{})
	out.Persist = append(out.Persist, "record"...)
	out.Send = append(out.Send, protocol.Envelope{To: 1, Message: &i.m, Durable: true})
}

func (i *idle) Machine() (protocol.Machine, protocol.Incarnate) { return i, nil }

func TestAStepDoesNotAllocate(t *testing.T) {
	var x drive.Executor
	i := &idle{}
	if n := testing.AllocsPerRun(100, func() { x.Step(i, 1, protocol.Tick{}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
