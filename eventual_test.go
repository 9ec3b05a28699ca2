package regent

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// f ≤ n-2, and a minority, in councils of every size.
func TestToleratedIsAMinorityAndLeavesTwo(t *testing.T) {
	for n := 3; n <= protocol.MaxMembers; n++ {
		if f := tolerated(n); f < 1 || f > n-2 || 2*f >= n {
			t.Errorf("%d members: f is %d", n, f)
		}
	}
}

// A leader of a moment does not mean that one has good links, and a group that is closed has no say.
func TestWarningThatNobodyIsAccessibleStaysUntilALeaderLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		m := assemble(t, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }, "a")["a"]
		g, err := m.EventualGroup("g", "")
		if err != nil {
			t.Fatal(err)
		}
		say := func(leader protocol.Ident, cause protocol.CauseCode) { m.noteAccess("eventual", "g", leader, cause) }
		somebody := protocol.Ident{Rank: 0, Inc: 1}
		for range 3 {
			say(protocol.NoIdent, protocol.NoAccess)
			say(somebody, protocol.Elected)
			time.Sleep(accessRecovery / 2)
			say(protocol.NoIdent, protocol.Suspected)
		}
		if n := strings.Count(log.String(), "no member has good links"); n != 1 || !m.Status().NoAccess {
			t.Errorf("%d warnings; it stands: %v", n, m.Status().NoAccess)
		}
		say(somebody, protocol.Elected)
		time.Sleep(accessRecovery + time.Second)
		if m.Status().NoAccess {
			t.Error("a leader has lasted, and the warning stands")
		}
		say(protocol.NoIdent, protocol.NoAccess)
		synctest.Wait() // the log is written behind
		if n := strings.Count(log.String(), "no member has good links"); n != 2 || !m.Status().NoAccess {
			t.Errorf("%d warnings when it begins again", n)
		}
		g.Close()
		synctest.Wait()
		if m.Status().NoAccess {
			t.Error("the group is closed, and the warning stands")
		}
	})
}
