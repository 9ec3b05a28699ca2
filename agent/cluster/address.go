package cluster

import "github.com/regentproject/regent/internal/transport/loopback"

// FreeAddress returns an address of this host on which no process listens, neither for packets nor for connections. It returns
// each address once.
func FreeAddress() (string, error) { return loopback.Free() }
