package wire

import (
	"github.com/regentproject/regent/internal/datagram/path"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/detect"
	"github.com/regentproject/regent/internal/protocol/fsource"
	"github.com/regentproject/regent/internal/protocol/hall"
	"github.com/regentproject/regent/internal/protocol/lease"
	"github.com/regentproject/regent/internal/protocol/link"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/protocol/order"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/internal/protocol/rank"
	"github.com/regentproject/regent/internal/protocol/ring"
	"github.com/regentproject/regent/internal/protocol/stable"
	"github.com/regentproject/regent/internal/protocol/stack"
	"github.com/regentproject/regent/internal/protocol/timefree"
)

// FirstMessage is the lowest number of a message; those below are for the packet's own items. Each package has a block
// of sixteen. A number is never given to another type, not even when its own is gone.
const FirstMessage Number = 16

// Types is the table of all messages that members send to one another. mirror.go says how their fields are numbered:
// add new ones at the end of a struct. docs/wire.md lists them all, which a test holds.
var Types = []Type{
	{Number: 16, Message: (*rank.OK)(nil)},

	{Number: 32, Message: (*lease.Request)(nil), Any: true},
	{Number: 33, Message: (*lease.OK)(nil), Any: true},
	{Number: 34, Message: (*lease.Nack)(nil), Any: true},

	{Number: 48, Message: (*nerio.Recover)(nil), Recovery: true, Any: true},
	{Number: 49, Message: (*nerio.Known)(nil), Recovery: true, Any: true},
	{Number: 50, Message: (*nerio.Stale)(nil), Recovery: true, Proof: true, Any: true},
	{Number: 51, Message: (*nerio.Handover)(nil), Any: true},
	{Number: 52, Message: (*nerio.Verify)(nil), Any: true},
	{Number: 53, Message: (*nerio.Remainder)(nil), Any: true},
	{Number: 54, Message: (*nerio.Who)(nil), Any: true},
	{Number: 55, Message: (*nerio.Leads)(nil), Any: true},
	{Number: 56, Message: (*nerio.Candidates)(nil), Any: true},
	{Number: 57, Message: (*nerio.Noted)(nil), Any: true},
	{Number: 58, Message: (*nerio.Values)(nil), Any: true},

	{Number: 64, Message: (*stable.OK)(nil)},
	{Number: 65, Message: (*stable.START)(nil)},
	{Number: 66, Message: (*stable.ALERT)(nil)},
	{Number: 67, Message: (*stable.STOP)(nil)},
	{Number: 68, Message: (*stable.PING)(nil)},
	{Number: 69, Message: (*stable.PONG)(nil)},

	{Number: 80, Message: (*hall.Election)(nil)},
	{Number: 81, Message: (*hall.Reply)(nil)},
	{Number: 82, Message: (*hall.Release)(nil)},
	{Number: 83, Message: (*hall.Ack)(nil)},
	{Number: 84, Message: (*hall.Relay)(nil)},

	{Number: 96, Message: (*timefree.Query)(nil)},
	{Number: 97, Message: (*timefree.Response)(nil)},

	{Number: 112, Message: (*fsource.Alive)(nil)},

	{Number: 128, Message: (*detect.OK)(nil)},
	{Number: 129, Message: (*detect.ACK)(nil)},
	{Number: 130, Message: (*detect.START)(nil)},

	{Number: 144, Message: (*ring.Beat)(nil)},

	{Number: 160, Message: (*path.Heard)(nil), Recovery: true},

	{Number: 176, Message: (*link.Ping)(nil), Any: true},
	{Number: 177, Message: (*link.Word)(nil), Any: true},

	{Number: 192, Message: (*rain.Cand)(nil), Any: true},
	{Number: 193, Message: (*rain.Accept)(nil), Any: true},
	{Number: 194, Message: (*rain.Cancel)(nil), Any: true},
	{Number: 195, Message: (*rain.Install)(nil), Any: true},
	{Number: 196, Message: (*rain.Installed)(nil), Any: true},
	{Number: 197, Message: (*rain.State)(nil), Any: true},
	{Number: 198, Message: (*rain.Query)(nil), Any: true},
	{Number: 199, Message: (*rain.Answer)(nil), Any: true},
	{Number: 200, Message: (*rain.Stay)(nil), Any: true},
	{Number: 201, Message: (*rain.Stays)(nil), Any: true},
	{Number: 202, Message: (*rain.Links)(nil), Any: true},
	{Number: 203, Message: (*rain.Ask)(nil), Any: true},
	{Number: 204, Message: (*rain.Told)(nil), Any: true},

	{Number: 208, Message: (*stack.Health)(nil)},

	{Number: 224, Message: (*council.Prepare)(nil), Any: true},
	{Number: 225, Message: (*council.Promise)(nil), Any: true},
	{Number: 226, Message: (*council.Accept)(nil), Recovery: true, Any: true},
	{Number: 227, Message: (*council.Accepted)(nil), Any: true},
	{Number: 228, Message: (*council.Refused)(nil), Any: true},
	{Number: 229, Message: (*council.Chosen)(nil), Recovery: true, Any: true},
	{Number: 230, Message: (*council.Carry)(nil), Any: true},
	{Number: 231, Message: (*council.Recover)(nil), Recovery: true, Any: true},
	{Number: 232, Message: (*council.Known)(nil), Recovery: true, Any: true},
	{Number: 233, Message: (*council.Abandon)(nil), Any: true},
	{Number: 234, Message: (*council.Abandoned)(nil), Any: true},
	{Number: 235, Message: (*council.Objected)(nil), Any: true},
	{Number: 236, Message: (*council.Inherit)(nil), Any: true},
	{Number: 237, Message: (*council.Inherited)(nil), Any: true},

	{Number: 240, Message: (*order.Ask)(nil)},
	{Number: 241, Message: (*order.Ticket)(nil)},
	{Number: 242, Message: (*order.Do)(nil)},
	{Number: 243, Message: (*order.Told)(nil)},
}

var messages = newTable(Types)
