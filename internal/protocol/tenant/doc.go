// Package tenant is the machine of a member whose leaders are elected elsewhere: by an engine (package regent/engine). It stands where the council's machine stands
// in other members, so that group tables, agents and all that lies above work the same.
//
// The engine is a peer to it, with the rank [Engine]: requests go there as messages, and what the engine reports comes as messages from there.
// Every attempt to lead has a number, which all messages about it bear; what comes about an earlier one is dropped.
//
// The machine keeps three rules. It publishes a leadership only until the end that the engine has reported. It releases one only after its
// program has stopped (Stopped). When the end has passed, or the engine reports the loss, it publishes that nobody leads before anything else.
package tenant
