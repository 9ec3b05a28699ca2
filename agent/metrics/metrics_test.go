package metrics

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/core/coretest"
)

// Programs anywhere may invent names of groups: what each leaves in the metrics of every host must be bounded, in number and in time.
func TestInventedGroupsDoNotFillTheMetrics(t *testing.T) {
	a := coretest.Joined(t, "")
	c := &Collector{Agent: a, AuditLost: func() uint64 { return 0 }, Connections: func() (uint64, uint64, bool) { return 0, 0, false }}
	h := Handler(c)
	size := func() int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return w.Body.Len()
	}
	before := size()
	for i := range 2000 {
		name := fmt.Sprintf("%s-%d", strings.Repeat("x", 240), i)
		a.ChangeLog.AddView(regent.View{Mode: regent.Quorum, Group: name, Leader: "b", Token: 1})
		a.ChangeLog.AddView(regent.View{Mode: regent.Quorum, Group: name})
	}
	if grown := size() - before; grown > 64<<10 {
		t.Errorf("2,000 groups that are over left %d bytes in the metrics", grown)
	}
	groups, _ := a.ChangeLog.List("", "", 0)
	if shown, over := c.current(groups, time.Now()); len(shown) != maxOver || over != 2000 || shown[0].Serial != 4000 {
		t.Errorf("%d of %d groups are shown, the first with serial %d", len(shown), over, shown[0].Serial)
	}
	if shown, _ := c.current(groups, time.Now().Add(overFor)); len(shown) != 0 {
		t.Errorf("%d groups are shown after %v", len(shown), overFor)
	}
}
