// Package shared makes memory for package page that other processes of the host can read and not write.
//
// On Linux it is a memory file. Seals keep every process from changing its size, so that a reader that has mapped it is never
// killed by SIGBUS, and from mapping it for writing or writing to it, but for the mapping that its maker has already. Other
// systems have no such memory: there New fails with [ErrUnsupported], and agents tell their programs everything in messages.
package shared

import (
	"errors"
	"sync/atomic"
)

// ErrUnsupported says that this system cannot share memory in this way.
var ErrUnsupported = errors.New("shared memory: this system has none that only its maker can write")

// words is memory of this process, or shared with others.
type words []uint64

func (w words) Len() int              { return len(w) }
func (w words) Load(i int) uint64     { return atomic.LoadUint64(&w[i]) }
func (w words) Store(i int, v uint64) { atomic.StoreUint64(&w[i], v) }
