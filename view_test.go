package regent

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/regentproject/regent/why"
)

func TestViewsAreReadAsTheyAreWritten(t *testing.T) {
	for k := why.Unexplained; k <= why.Stalled; k++ {
		v := View{Group: "g", Leader: "a", Token: 7, Mine: true, Cause: Cause{Why: k, Member: "b", Bound: time.Second}, At: 12}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var got View
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if got != v {
			t.Errorf("%s was read as %+v", b, got)
		}
	}
}

func TestAViewInJSONNamesItsCause(t *testing.T) {
	b, err := json.Marshal(View{Group: "g", Cause: Cause{Why: why.LeaseExpired, Member: "a"}, At: 5})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"group":"g","leader":"","mine":false,"stopping":false,"cause":{"why":"lease expired","member":"a"},"at":5}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}
