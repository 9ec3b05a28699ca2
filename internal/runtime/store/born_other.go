//go:build !linux

package store

// born is not known here.
func born(string) (sec int64, nsec uint32, ok bool) { return 0, 0, false }
