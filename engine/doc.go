// Package engine is the seam below a leadership: what elects. Regent's own council is the default engine. Others elect on a system that is
// operated already, such as PostgreSQL, etcd or Kubernetes: package regent/engines/postgres and its siblings, each a module of its own. [regent.On] makes a member of one.
//
// An engine says who leads a group, until when on the clock of this process, and with which token. All else is the same for all engines: the guard
// time, Done, Lead, the turns of several programs, the agent, and what it kills.
//
// An engine on a store that can compare and set one entry needs no more than a [register.Store]. Package register has the rules that make it
// safe, and package enginetest the test that every engine must pass.
//
// [regent.On]: https://pkg.go.dev/github.com/regentproject/regent#On
// [register.Store]: https://pkg.go.dev/github.com/regentproject/regent/engine/register#Store
package engine
