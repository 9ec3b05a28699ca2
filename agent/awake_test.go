package agent

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/regentproject/regent"
)

// The agent holds the processors awake for leases that a late wake-up costs, and for no others.
func TestProcessorsAreHeldAwakeForShortLeasesOnly(t *testing.T) {
	held := io.NopCloser(strings.NewReader(""))
	refused := errors.New("permission denied")
	for _, c := range []struct {
		name     string
		timing   regent.Timing
		ordinary bool
		err      error
		asked    bool
		holds    bool
		logged   string
	}{
		{name: "fast", timing: regent.Fast, asked: true, holds: true},
		{name: "fast without permission", timing: regent.Fast, err: refused, asked: true, logged: "permission denied"},
		{name: "fast with realtime: false", timing: regent.Fast, ordinary: true},
		{name: "lan", timing: regent.LAN},
	} {
		var log bytes.Buffer
		asked := false
		got := holdAwake(c.timing, c.ordinary, func() (io.Closer, error) { asked = true; return held, c.err }, slog.New(slog.NewTextHandler(&log, nil)))
		if asked != c.asked || (got != nil) != c.holds || !strings.Contains(log.String(), c.logged) || c.logged == "" && log.Len() > 0 {
			t.Errorf("%s: asked %v, holds %v, logged %q", c.name, asked, got != nil, log.String())
		}
	}
}
