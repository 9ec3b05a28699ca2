package regent

import (
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/runtime"
)

func TestGroupsThatNobodyHoldsAreForgotten(t *testing.T) {
	m := &Member{sites: newSiteCache()}
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
		goruntime.GC()
		if known() == 1 {
			break
		}
		goruntime.Gosched()
	}
	if known() != 1 || m.site(modeLocal, "held", "", runtime.SiteOptions{}) != held {
		t.Errorf("%d are known, of which one is held", known())
	}
}

func TestLogTellsOfLocalAndEventualLeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := assemble(t, "a", "b")
		leadLocally(t.Context(), h.localOf("cache"))
		h.eventual("compaction", "", "a", "b")
		time.Sleep(2 * time.Second)
		for _, want := range []string{
			`level=INFO msg="leader changed" member=a mode=local group=cache leader=a stopping=false cause="elected a" support="[a`,
			`level=DEBUG msg="leader changed" member=b mode=local group=cache leader=a`,
			`mode=eventual group=compaction leader=`,
		} {
			if !strings.Contains(h.log(), want) {
				t.Errorf("the log does not say %s", want)
			}
		}
	})
}
