package regent

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
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

// Another group changes so often that the change of a group is not kept until a slow observer asks for it. The observer learns how the group is.
func TestSlowObserverLearnsTheLatestViewOfEveryGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		latest := make(map[string]View)
		m := assemble(t, func(c *Config) {
			c.OnChange = func(v View) {
				latest[v.Group] = v
				if v.Group == "slow" {
					time.Sleep(5 * time.Minute)
				}
			}
		}, "a")["a"]
		quiet := must(must(m.Group("quiet")).Campaign(t.Context()))
		must(must(m.Group("slow")).Campaign(t.Context()))
		time.Sleep(time.Second) // the observer looks at the slow group from now on
		_ = quiet.Resign(t.Context())
		late := must(must(m.Group("late")).Campaign(t.Context()))
		for range 600 {
			l := must(must(m.Group("noisy")).Campaign(t.Context()))
			_ = l.Resign(t.Context())
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if v := latest["quiet"]; v.Leader != "" {
			t.Errorf("the last view of the quiet group is %v", v)
		}
		if v := latest["late"]; v.Leader != "a" || v.Token != late.Token() {
			t.Errorf("the last view of the late group is %v", v)
		}
		_ = m.Leave(t.Context())
	})
}

// A program may announce values as often as it likes: they are no news in the log.
func TestValuesAreNoNewsInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		m := assemble(t, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }, "a")["a"]
		l := must(must(m.Group("g")).Announcing("first").Campaign(t.Context()))
		time.Sleep(time.Second)
		for i := range 10 {
			if err := l.Announce(t.Context(), fmt.Sprint("value", i)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		_ = l.Announce(t.Context(), "")
		time.Sleep(time.Second)
		_ = m.Leave(t.Context())
		synctest.Wait()
		if text := log.String(); !strings.Contains(text, "leader changed") || strings.Contains(text, "value=value") {
			t.Errorf("the log has\n%s", text)
		}
	})
}
