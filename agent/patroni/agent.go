package patroni

import (
	"context"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/config"
	"github.com/regentproject/regent/agent/core"
)

// An Agent is what the tools of Patroni need of the agent. [core.Agent] is one.
type Agent interface {
	About() core.About
	Config() *config.File
	Known() *core.ChangeLog
	Members() []regent.PeerStatus
	Role(group string) api.RoleInfo

	LeaderOfGroup(group string, token uint64, command string) (*core.Candidate, error)
	CheckSuccessor(to string) error
	SwitchOrder(to string) *core.Order
	Order(ctx context.Context, k *core.Candidate, o *core.Order) error
	GraceFor(c *core.Candidate, cause regent.Cause) time.Duration
}
