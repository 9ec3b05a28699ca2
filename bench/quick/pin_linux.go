package main

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// pin keeps the calling goroutine on the last processor.
func pin() {
	runtime.LockOSThread()
	runtime.GOMAXPROCS(1)
	var set unix.CPUSet
	set.Set(runtime.NumCPU() - 1)
	_ = unix.SchedSetaffinity(0, &set)
}
