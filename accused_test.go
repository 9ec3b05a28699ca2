package regent

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/nerio"
	"github.com/regentproject/regent/internal/runtime"
)

// Accusations are logged once for each reason, shown for a while, and all counted.
func TestAccusationsAreShownForAWhileAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		m := assemble(t, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }, "a")["a"]
		say := func(why string) {
			m.facts(m.world.Clock.Now(), runtime.Council, []protocol.Fact{{Ev: protocol.EvAccused, Peer: protocol.Ident{Rank: 0}, Seq: 9, Why: why}})
		}
		expect := func(lines int, status string) {
			t.Helper()
			synctest.Wait() // the log is written behind
			if n := strings.Count(log.String(), "later incarnation"); n != lines {
				t.Errorf("%d lines, want %d", n, lines)
			}
			if got := m.Status().Accused; got != status {
				t.Errorf("status %q, want %q", got, status)
			}
		}
		expect(0, "")
		say(nerio.Unproven)
		say(nerio.Unproven)
		expect(1, "a has heard incarnation 9 of this member (no proof)")
		say(nerio.Rival)
		expect(2, "a has heard incarnation 9 of this member (another process speaks)")
		time.Sleep(accusedFor + time.Second)
		expect(2, "")
		say(nerio.Unproven)
		expect(3, "a has heard incarnation 9 of this member (no proof)")
		counted := 0.0
		for metric := range m.Metrics() {
			if metric.Name == "regent_accusations_total" {
				counted += metric.Value
			}
		}
		if counted != 4 {
			t.Errorf("%v accusations are counted, want 4", counted)
		}
	})
}
