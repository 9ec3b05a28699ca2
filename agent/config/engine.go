package config

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/engine"
)

// An Engine elects in place of a council, on a system that is operated already.
type Engine struct {
	// Kind is "postgres", or another that the agent was built with.
	Kind string `yaml:"kind"`
	// Address is how to reach the system, and AddressFile a file with it, which may have a password.
	Address     string `yaml:"address"`
	AddressFile string `yaml:"address_file"`
}

// Read returns the address.
func (e *Engine) Read() (string, error) {
	if e.AddressFile == "" {
		return e.Address, nil
	}
	b, err := os.ReadFile(e.AddressFile)
	if err != nil {
		return "", fmt.Errorf("engine.address_file: %w", err)
	}
	text := strings.TrimSpace(string(b))
	if text == "" {
		return "", fmt.Errorf("engine.address_file: %s is empty", e.AddressFile)
	}
	return text, nil
}

// checkEngine looks at what a file with an engine has.
func (f *File) checkEngine(fail failer) {
	e := f.Engine
	switch {
	case e.Kind == "":
		fail("engine.kind is not set: name the engine, such as postgres")
	case (e.Address == "") == (e.AddressFile == ""):
		fail("engine: address and address_file: set one of the two")
	default:
		if _, err := e.Read(); err != nil {
			fail("%w", err)
		}
	}
	if f.Name == "" {
		fail("name is not set: say what this host is called, unlike any other")
	}
	for _, k := range []struct {
		key string
		set bool
	}{{"council", len(f.Council) > 0}, {"join", len(f.Join) > 0}, {"council_id", f.CouncilID != ""}, {"key_file", f.KeyFile != ""}, {"bind", f.Bind != ""}, {"bootstrap", f.Bootstrap}, {"guardian", f.Guardian},
		{"elector", f.Elector != ""}, {"prefer", f.Prefer != 0}, {"balance", f.Balance}, {"consistent", f.Consistent}, {"quorum_votes", f.QuorumVotes != 0},
		{"profile", f.Profile != ""}, {"groups", len(f.Groups) > 0}, {"leases", len(f.Leases) > 0}, {"lease", f.Lease != 0}} {
		if k.set {
			fail("%s is of a council: leave it out with an engine", k.key)
		}
	}
}

// engineTiming returns the constants of members on an engine.
func engineTiming() regent.Timing {
	t := regent.WAN
	t.Lease, t.Renew, t.Guard, t.RoundTrip = engine.DefaultLease, engine.DefaultRenew, engine.DefaultGuard, engine.DefaultRoundTrip
	return t
}

// base returns the constants to start from.
func (f *File) base() (regent.Timing, error) {
	if f.Engine != nil {
		return engineTiming(), nil
	}
	p := profile(f.Profile)
	if p == nil {
		return regent.Timing{}, fmt.Errorf("profile %q: must be fast, lan or wan", f.Profile)
	}
	return p.Timing, nil
}

// errNoEngine says that the file has a council.
var errNoEngine = errors.New("the configuration has no engine: the council elects")

// EngineAddress returns the kind and the address of the engine, or says that there is none.
func (f *File) EngineAddress() (kind, address string, err error) {
	if f.Engine == nil {
		return "", "", errNoEngine
	}
	address, err = f.Engine.Read()
	return f.Engine.Kind, address, err
}
