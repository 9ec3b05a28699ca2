package clock

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// system uses one clock only: interrupt time counts sleep and hibernation and is not touched by the time service. There
// is no cheap reading: package time's clocks advance in steps of up to 15 ms here, too coarse to compare.
func system() (source, error) {
	precise := windows.NewLazySystemDLL("kernelbase.dll").NewProc("QueryInterruptTimePrecise")
	if err := precise.Find(); err != nil {
		return source{}, fmt.Errorf("clock: QueryInterruptTimePrecise: %w: a lease clock needs Windows 10 or later", err)
	}
	return source{raw: func() time.Duration {
		var units uint64 // of 100 ns
		precise.Call(uintptr(unsafe.Pointer(&units)))
		return time.Duration(units) * 100
	}}, nil
}
