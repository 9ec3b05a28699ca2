package httpd

import (
	"context"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/internal/protocol"
)

// An Agent is what the interface needs of the agent. [core.Agent] is one.
type Agent interface {
	About() core.About
	Config() *config.File
	knowledge
	streams
	orders
	campaigns
}

type (
	// knowledge is what is read: read.go, roles.go.
	knowledge interface {
		Known() *core.ChangeLog
		Status() api.AgentStatus
		CouncilID() string
		Members() []regent.PeerStatus
		Council() (api.CouncilInfo, error)
		Sessions(group string) []api.SessionInfo
		Info(c *api.Change) api.GroupInfo
		Role(group string) api.RoleInfo
		Verify(ctx context.Context, group string) (*regent.Proof, error)
		// UnknownGroup says of a group that the member has not heard of whether that means anything.
		UnknownGroup(group string) error
		// NotReady returns why the agent is not ready; empty if it is. Alive says whether the member's loop runs.
		NotReady() string
		Alive() bool
	}

	// streams is what goes on: stream.go.
	streams interface {
		AcquireStream() (done func(), err error)
		Event(c *api.Change) api.StreamEvent
		Unheard(group string) *api.Change
		WatchAll(ctx context.Context, s core.Sink) error
		Follow(ctx context.Context, s core.Sink, watch *core.Watcher, every time.Duration, beat func() error) error
	}

	// orders is what operators want of a leader or of the host: orders.go.
	orders interface {
		Leader(group string) *core.Candidate
		LeaderOfGroup(group string, token uint64, command string) (*core.Candidate, error)
		// CheckMember says why a name cannot be that of a successor anywhere, CheckSuccessor why it cannot be of a leader here.
		CheckMember(to string) error
		CheckSuccessor(to string) error
		Order(ctx context.Context, k *core.Candidate, o *core.Order) error
		// Send has the agent of another member carry an order out.
		Send(ctx context.Context, to string, body []byte) ([]byte, error)
		LeaderAfter(ctx context.Context, group string, token uint64, to string) api.Outcome
		// Drain moves all leadership away from this host, or lets its programs lead again.
		Drain(ctx context.Context, drain bool, o *api.DrainOrder) (api.Drained, error)
		// ChangeCouncil changes who the members are.
		ChangeCouncil(ctx context.Context, o *api.CouncilOrder) (api.CouncilInfo, error)
		// RecoverCouncil gives the council up, and goes on with the members that are left. AcknowledgeCouncil takes note of that.
		RecoverCouncil(ctx context.Context, o *api.RecoverOrder) (api.RecoverInfo, error)
		AcknowledgeCouncil(ctx context.Context) (api.CouncilInfo, error)
	}

	// campaigns is for programs that campaign over HTTP: campaign.go.
	campaigns interface {
		AddCandidate(p core.Candidacy) (*core.Candidate, error)
		Now() protocol.Time
	}
)
