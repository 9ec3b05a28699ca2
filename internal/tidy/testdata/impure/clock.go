// Package impure breaks every rule of purity. A line that breaks one says which.
package impure

import (
	"time"
	clock "time"
)

func now() time.Duration {
	t := time.Now()                // want "uses time.Now"
	later := clock.Now             // want "uses time.Now"
	time.Sleep(time.Second)        // want "uses time.Sleep"
	<-clock.After(1)               // want "uses time.After" want "receives from a channel"
	_ = time.NewTimer              // want "uses time.NewTimer"
	_ = time.AfterFunc             // want "uses time.AfterFunc"
	return time.Since(t) + later().Sub(t) // want "uses time.Since"
}

type stamp struct{ at clock.Time } // want "uses time.Time"
