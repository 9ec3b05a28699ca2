package timers

import "time"

func alarm(d time.Duration) <-chan time.Time { return time.NewTimer(d).C }
