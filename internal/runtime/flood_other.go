//go:build !linux

package runtime

import "time"

// osThread is the calling thread, of which nothing is known.
type osThread struct{}

func (osThread) cpu() time.Duration     { return 0 }
func (osThread) sleep(d time.Duration)  { time.Sleep(d) }
func (osThread) realtime() bool         { return false }
func (osThread) setRealtime(bool) error { return nil }
