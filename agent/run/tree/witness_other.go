//go:build !linux

package tree

import "os"

// Witnesses returns none: this system has no cgroups.
func (r *Ref) Witnesses() (runner, cgroup *os.File, err error) { return nil, nil, nil }
