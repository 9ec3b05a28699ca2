package script

import "testing"

// FuzzParseFault looks for statements that make the parser crash, or that it takes and that begin no fault.
func FuzzParseFault(f *testing.F) {
	for _, text := range []string{"crash a", "cut a b", "partition {a b} {c}", "slow a b 5ms", "lose a b 10%", "restart b", "freeze a", "clock a 1.5", "disk a slow 3ms"} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, members int) {
		if members < 1 || members > 100 {
			return
		}
		if faults, err := ParseFault(text, members); err == nil && len(faults) == 0 {
			t.Fatalf("%q was taken, and begins no fault", text)
		}
	})
}
