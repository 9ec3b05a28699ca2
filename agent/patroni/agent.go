package patroni

import (
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

	// CheckMember says why a name cannot be that of a successor anywhere, CheckSuccessor why it cannot be of a leader here.
	CheckMember(to string) error
	CheckSuccessor(to string) error
}
