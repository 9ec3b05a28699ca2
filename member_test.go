package regent

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestOnChangeMayBeSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var views []View
		missed := 0
		m := assemble(t, func(c *Config) {
			c.OnChange = func(v View) {
				views = append(views, v)
				missed += v.Missed
				time.Sleep(time.Second)
			}
		}, "a")["a"]
		changes := 0
		for range 600 {
			l, err := must(m.Group("g")).Campaign(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_ = l.Resign(t.Context())
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		changes = int(m.groupTable.Group("g").Latest().Number)
		if changes < 1200 || len(views)+missed != changes || missed == 0 {
			t.Errorf("%d changes, %d told, %d missed", changes, len(views), missed)
		}
		_ = m.Leave(t.Context())
	})
}
