package regent

import (
	"fmt"
	goruntime "runtime"
	"testing"

	"github.com/regentproject/regent/internal/runtime"
)

func TestGroupsThatNobodyHoldsAreForgotten(t *testing.T) {
	m := &Member{sites: newPlaces()}
	known := func() int {
		m.sites.mu.Lock()
		defer m.sites.mu.Unlock()
		return len(m.sites.known)
	}
	held := m.site(modeLocal, "held", "", runtime.SiteOptions{})
	for i := range 100 {
		m.site(modeLocal, fmt.Sprint(i), "", runtime.SiteOptions{})
	}
	for range 1000 { // cleanups run some time after a collection
		if goruntime.GC(); known() == 1 {
			break
		}
		goruntime.Gosched()
	}
	if known() != 1 || m.site(modeLocal, "held", "", runtime.SiteOptions{}) != held {
		t.Errorf("%d are known, of which one is held", known())
	}
}
