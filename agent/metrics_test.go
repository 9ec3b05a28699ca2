package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
)

// Programs anywhere may invent names of groups: what each leaves in the metrics of every host must be bounded, in number and in time.
func TestInventedGroupsDoNotFillTheMetrics(t *testing.T) {
	r := alone(t, "{listen: \""+port(t)+"\"}")
	r.begin(t)
	size := func() int {
		_, _, body := r.raw(t, "GET", "/metrics", "")
		return len(body)
	}
	before := size()
	for i := range 2000 {
		name := fmt.Sprintf("%s-%d", strings.Repeat("x", 240), i)
		r.agent.changes.addView(regent.View{Mode: regent.Quorum, Group: name, Leader: "b", Token: 1})
		r.agent.changes.addView(regent.View{Mode: regent.Quorum, Group: name})
	}
	if grown := size() - before; grown > 64<<10 {
		t.Errorf("2,000 groups that are over left %d bytes in the metrics", grown)
	}
	groups, _ := r.agent.changes.list("", "", 0)
	if shown, over := r.agent.current(groups, time.Now()); len(shown) != maxOver || over != 2000 || shown[0].Serial != 4000 {
		t.Errorf("%d of %d groups are shown, the first with serial %d", len(shown), over, shown[0].Serial)
	}
	if shown, _ := r.agent.current(groups, time.Now().Add(overFor)); len(shown) != 0 {
		t.Errorf("%d groups are shown after %v", len(shown), overFor)
	}
}
