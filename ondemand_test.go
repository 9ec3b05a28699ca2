package regent

import (
	"fmt"
	goruntime "runtime"
	"testing"

	"github.com/regentproject/regent/internal/runtime"
)

func TestGroupsThatNobodyHoldsAreForgotten(t *testing.T) {
	m := &Member{onDemandGroups: newOnDemandCache()}
	known := func() int {
		m.onDemandGroups.mu.Lock()
		defer m.onDemandGroups.mu.Unlock()
		return len(m.onDemandGroups.known)
	}
	held := m.onDemand(modeLocal, "held", "", runtime.OnDemandOptions{})
	for i := range 100 {
		m.onDemand(modeLocal, fmt.Sprint(i), "", runtime.OnDemandOptions{})
	}
	for range 1000 { // cleanups run some time after a collection
		goruntime.GC()
		if known() == 1 {
			break
		}
		goruntime.Gosched()
	}
	if known() != 1 || m.onDemand(modeLocal, "held", "", runtime.OnDemandOptions{}) != held {
		t.Errorf("%d are known, of which one is held", known())
	}
}
