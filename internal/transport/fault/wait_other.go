//go:build !linux

package fault

func newPrecise() waiter { return newTimer() }
