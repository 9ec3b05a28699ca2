package runtime

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A program that announces without pause costs the council a bounded number of messages, and its last value is the one that stays.
func TestValuesAreAnnouncedAtABoundedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const interval = 5 * time.Millisecond
		var v values
		var passed []string
		announce := func(value string) error { passed = append(passed, value); return nil }
		for i := range 1000 {
			if err := v.put(fmt.Sprint(i), interval, announce); err != nil {
				t.Fatal(err)
			}
			time.Sleep(interval / 50)
		}
		time.Sleep(interval)
		synctest.Wait()
		if n := len(passed); n < 15 || n > 22 || passed[0] != "0" || passed[n-1] != "999" {
			t.Errorf("%d values are announced in 20 intervals: %v", n, passed)
		}
		_ = v.put("alone", interval, announce)
		if last := passed[len(passed)-1]; last != "alone" {
			t.Errorf("a value after a pause waits: the last one is %s", last)
		}
	})
}
