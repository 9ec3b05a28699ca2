package agent

import "github.com/regentproject/regent/agent/api"

// The bodies of answers, for clients.
type (
	Change        = api.Change
	EdictOrder    = api.EdictOrder
	GroupInfo     = api.GroupInfo
	GroupList     = api.GroupList
	History       = api.History
	MemberInfo    = api.MemberInfo
	MemberList    = api.MemberList
	Outcome       = api.Outcome
	PauseInfo     = api.PauseInfo
	ProofInfo     = api.ProofInfo
	Refusal       = api.Refusal
	ResignOrder   = api.ResignOrder
	StampInfo     = api.StampInfo
	StatusInfo    = api.StatusInfo
	StreamEvent   = api.StreamEvent
	TimingInfo    = api.TimingInfo
	TransferOrder = api.TransferOrder
)

// ClockAdvice is what is wrong when a clock is beyond its bound, and what to do.
const ClockAdvice = api.ClockAdvice
