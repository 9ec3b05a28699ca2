package regent

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
)

// A directory of the name of the note cannot be written to. A member that could not keep the order across a restart must not seem drained.
func TestDrainThatCannotBeNotedIsNotCarriedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := assemble(t, nil, "a")["a"]
		l := must(must(m.Group("g")).Campaign(t.Context()))
		note := m.config.Dir + "/drained"
		if err := os.Mkdir(note, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := m.Drain(t.Context()); err == nil || m.Status().Drained || !l.Valid() {
			t.Errorf("err %v, drained %v, leads %v", err, m.Status().Drained, l.Valid())
		}
		if err := os.Remove(note); err != nil {
			t.Fatal(err)
		}
		go func() { <-l.Done(); _ = l.Resign(t.Context()) }()
		if err := m.Drain(t.Context()); err != nil || !m.Status().Drained {
			t.Errorf("err %v, drained %v", err, m.Status().Drained)
		}
		if err := m.Leave(t.Context()); err != nil {
			t.Error(err)
		}
		if err := m.Undrain(t.Context()); err == nil {
			t.Error("a member that has left was undrained")
		}
	})
}

// An operator that looks at the log of a member that leads nothing finds the reason. What the note contains does not matter.
func TestDrainedMemberLogsItAtItsStart(t *testing.T) {
	for name, note := range map[string]string{"empty": "", "garbage": "\x00\xff"} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			m := assemble(t, func(c *Config) {
				if err := os.MkdirAll(c.Dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(c.Dir+"/drained", []byte(note), 0o600); err != nil {
					t.Fatal(err)
				}
				c.Logger = slog.New(slog.NewTextHandler(&log, nil))
			}, "a")["a"]
			synctest.Wait()
			if !m.Status().Drained || strings.Count(log.String(), "the member was drained before this start") != 1 {
				t.Errorf("%s: drained %v, log:\n%s", name, m.Status().Drained, log.String())
			}
		})
	}
}
