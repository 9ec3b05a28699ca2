package wire

// FirstMessage is the lowest number of a message; those below are for the packet's own items. Each package has a block
// of sixteen. A number is never given to another type, not even when its own is gone.
const FirstMessage Number = 16

// Types is the table of all messages that members send to one another.
//
// Every exported field of a message, and of the structs in it, has a tag `cbor:"N,keyasint"` (omitempty if zero is its
// usual value) with a number that is never used again for another field; a test holds this, and that docs/wire.md lists
// them. A field may be bool, an integer, a string, a struct, protocol.Set, or a slice or array of these.
var Types = []Type{}

var messages = newTable(Types)
