package socket

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/agent/processes"
	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/runtime/party"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

// modes are all modes. The groups of a fakeAgent have their names.
var modes = []regent.Mode{regent.Quorum, regent.Local, regent.Eventual, regent.Consistent}

// A fakeAgent knows one group of each mode. It takes note of campaigns, and refuses them.
type fakeAgent struct {
	file    *config.File
	known   *core.ChangeLog
	silence *party.Silence

	mu        sync.Mutex
	campaigns []core.Candidacy
}

func newFake(file *config.File) *fakeAgent {
	file.Limits = config.Limits{Body: 1 << 12, Candidates: 8}
	a := &fakeAgent{file: file, known: core.NewChangeLog(func(*api.Change) bool { return true }), silence: party.NewSilence()}
	for _, m := range modes {
		a.known.AddView(regent.View{Group: string(m), Mode: m, Leader: "b", Token: 7, Value: "\x1b\n" + string(m), Cause: regent.Cause{Why: why.Elected, Member: "b"}, At: time.Unix(1, 0).UTC()})
	}
	return a
}

func (a *fakeAgent) ProgramTiming() regent.Timing { return a.About().Timing }

func (a *fakeAgent) About() core.About {
	return core.About{Name: "a", Timing: regent.LAN, Log: slog.New(slog.DiscardHandler)}
}

func (a *fakeAgent) Config() *config.File                 { return a.file }
func (a *fakeAgent) Known() *core.ChangeLog               { return a.known }
func (a *fakeAgent) ModeOf(string) regent.Mode            { return regent.Quorum }
func (a *fakeAgent) Priority() int                        { return 3 }
func (a *fakeAgent) Now() protocol.Time                   { return 0 }
func (a *fakeAgent) Signs() *core.LifeSigns               { return a.silence.Signs() }
func (a *fakeAgent) CauseFor(regent.Cause) protocol.Cause { return protocol.Cause{} }
func (a *fakeAgent) PageIdentity() uint64                 { return 0 }
func (a *fakeAgent) PageDescriptor() (int, bool)          { return 0, false }

func (a *fakeAgent) ClaimTree(*session.Candidate, *processes.Peer) (*processes.Tree, error) {
	return nil, nil
}

func (a *fakeAgent) Verify(context.Context, string) (*regent.Proof, error) {
	return nil, regent.ErrNoLeader
}

func (a *fakeAgent) AddCandidate(p core.Candidacy) (*core.Candidate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.campaigns = append(a.campaigns, p)
	return nil, core.ErrStopping
}

// connect opens a session with a fakeAgent. The agent does not know which process is at the other end.
func connect(t *testing.T, a *fakeAgent) *session.Conn {
	t.Helper()
	rules, err := access.NewRules(a.file)
	if err != nil {
		t.Fatal(err)
	}
	gate := access.NewGate(slog.New(slog.DiscardHandler))
	gate.SetAccess(rules)
	here, there := net.Pipe()
	go New(a, gate).Serve(there, there)
	own, err := clock.System()
	if err != nil {
		t.Fatal(err)
	}
	c, err := session.New(t.Context(), here, own)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Views of all modes arrive as they are, whatever is in them, and campaigns reach the agent with their mode.
func TestGroupsOfAllModesOnTheSocket(t *testing.T) {
	a := newFake(&config.File{})
	c := connect(t, a)
	if h := c.Greeting(); h.Member != "a" || h.Guard != regent.LAN.Guard || h.Priority != 3 || h.Page != 0 {
		t.Errorf("the greeting is %+v", h)
	}
	for _, m := range modes {
		want, _ := a.known.Group(string(m))
		if v, err := c.View(t.Context(), string(m)); err != nil || v.Value != want.Value || v.Mode != m || v.Leader != "b" || v.Cause != want.Cause || !v.At.Equal(want.At) {
			t.Errorf("%s: the view is %+v, %v", m, v, err)
		}
		err := c.Watch(t.Context(), string(m), func(v regent.View) bool {
			if v.Value != want.Value {
				t.Errorf("%s: a watch shows %+v", m, v)
			}
			return false
		})
		if err != nil {
			t.Error(err)
		}
		if _, err := c.Campaign(t.Context(), session.Candidate{Group: string(m), Mode: m, Value: "x"}); err == nil || !strings.Contains(err.Error(), "stopping") {
			t.Errorf("%s: a campaign that the agent refuses: %v", m, err)
		}
		if p := a.campaigns[len(a.campaigns)-1]; p.Group != string(m) || p.Mode != m || p.Via != "socket" || p.Value != "x" || p.Margin != session.Skew {
			t.Errorf("%s: the agent got %+v", m, p)
		}
	}
	if v, err := c.View(t.Context(), "unheard"); err != nil || v.Leader != "" || v.Cause.Why != why.Started || v.Mode != regent.Quorum {
		t.Errorf("a group that nobody has heard of: %+v, %v", v, err)
	}
}

// A program reads the clock before its first line, and compares that with the clock in the greeting. So the agent greets after that line, however
// late it is.
func TestAgentGreetsAfterTheFirstLine(t *testing.T) {
	gate := access.NewGate(slog.New(slog.DiscardHandler))
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		go New(newFake(&config.File{}), gate).Serve(there, there)
		synctest.Wait()
		before, err := clock.HostLow()
		if err != nil {
			t.Fatal(err)
		}
		own, err := clock.System()
		if err != nil {
			t.Fatal(err)
		}
		c, err := session.New(t.Context(), here, own)
		if err != nil {
			t.Fatal(err)
		}
		if now := c.Greeting().Now; now < before {
			t.Errorf("the agent read its clock %v before the program did", before.Sub(now))
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A client without a right gets an error, in all modes, and the agent learns of no campaign.
func TestRightsOnTheSocketInAllModes(t *testing.T) {
	a := newFake(&config.File{Rights: []config.Right{{Groups: []string{"*"}, Read: []string{"token:x"}, Lead: []string{"uid:0"}, Operate: []string{"uid:0"}}}})
	c := connect(t, a)
	for _, m := range modes {
		_, view := c.View(t.Context(), string(m))
		_, verify := c.Verify(t.Context(), string(m))
		_, campaign := c.Campaign(t.Context(), session.Candidate{Group: string(m), Mode: m})
		watch := c.Watch(t.Context(), string(m), func(v regent.View) bool {
			t.Errorf("%s: a watch shows %v", m, v)
			return false
		})
		for what, err := range map[string]error{"read it": view, "read it ": verify, " read it": watch, "lead it": campaign} {
			if err == nil || !strings.Contains(err.Error(), "may not "+strings.TrimSpace(what)) {
				t.Errorf("%s: %s: %v", m, what, err)
			}
		}
	}
	if len(a.campaigns) > 0 {
		t.Errorf("campaigns reached the agent: %+v", a.campaigns)
	}
}

// Runners take part in no consistent group.
func TestRunnersAreRefusedInConsistentGroups(t *testing.T) {
	a := newFake(&config.File{})
	c := connect(t, a)
	answer := make(chan *session.Event, 1)
	_, err := c.Enter(session.Candidate{Group: "consistent", Mode: regent.Consistent, Claim: &session.Tree{Mark: "12345678", Runner: 2}}, func(e *session.Event) { answer <- e })
	if err != nil {
		t.Fatal(err)
	}
	if e := <-answer; e.Event != session.Failed || !strings.Contains(e.Error, "must report what it has recovered") || len(a.campaigns) > 0 {
		t.Errorf("the answer is %+v, and the agent got %v", e, a.campaigns)
	}
}
