package web

import (
	"reflect"
	"testing"
	"time"

	"github.com/regentproject/regent"
)

// The page gets the pauses in rows, of which those that cost a lease are marked.
func TestPausesAgainstWhatLeasesSurvive(t *testing.T) {
	const ms = time.Millisecond
	at := time.UnixMilli(1_700_000_000_000)
	s := regent.Status{PauseCount: 101, PauseLongest: 160 * ms, PauseDay: 160 * ms, PauseDayAt: at,
		PauseBuckets: []regent.PauseBucket{{Upper: 90 * time.Microsecond, Count: 100}, {Upper: 160 * ms, Count: 1}}}
	got := PausesOf(&s, 150*ms)
	if got.Survives != 150*ms || got.Day != 160*ms || got.DayAt != at.UnixMilli() {
		t.Errorf("%+v", got)
	}
	want := map[time.Duration]Rung{100 * time.Microsecond: {Upper: 100 * time.Microsecond, Count: 100, Share: 1}, 150 * ms: {Upper: 150 * ms},
		300 * ms: {Upper: 300 * ms, Count: 1, Share: 0.18, Costs: true}}
	for _, r := range got.Rungs {
		if w, ok := want[r.Upper]; ok && w != r || !ok && r.Count > 0 {
			t.Errorf("%+v, want %+v", r, w)
		}
		delete(want, r.Upper)
	}
	if len(want) > 0 {
		t.Errorf("%+v is missing", want)
	}
	if got := PausesOf(&regent.Status{}, 150*ms); !reflect.DeepEqual(got, &Pauses{Survives: 150 * ms}) {
		t.Errorf("%+v of nothing", got)
	}
}
