package wire

import "github.com/regentproject/regent/internal/protocol/rank"

// FirstMessage is the lowest number of a message; those below are for the packet's own items. Each package has a block
// of sixteen. A number is never given to another type, not even when its own is gone.
const FirstMessage Number = 16

// Types is the table of all messages that members send to one another. mirror.go says how their fields are numbered:
// add new ones at the end of a struct. docs/wire.md lists them all, which a test holds.
var Types = []Type{
	{Number: 16, Message: (*rank.OK)(nil)},
}

var messages = newTable(Types)
