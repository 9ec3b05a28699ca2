package socket

import (
	"context"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/agent/processes"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
)

// An Agent is what the socket needs of the agent. [core.Agent] is one.
type Agent interface {
	About() core.About
	ProgramTiming() regent.Timing
	Config() *config.File
	Known() *core.ChangeLog
	ModeOf(group string) regent.Mode
	Priority() int
	Now() protocol.Time

	AddCandidate(p core.Candidacy) (*core.Candidate, error)
	Signs() *core.LifeSigns
	ClaimTree(r *session.Candidate, asker *processes.Peer) (*processes.Tree, error)
	CauseFor(c regent.Cause) protocol.Cause
	Verify(ctx context.Context, group string) (*regent.Proof, error)

	// PageIdentity is that of the page on which the agent shows deadlines; zero: it has none.
	PageIdentity() uint64
	PageDescriptor() (fd int, ok bool)
}
