package access

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
)

func TestAuditNeverBlocksAndCountsWhatItLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	l := NewLog(slog.New(slog.DiscardHandler))
	l.SetPath(path)
	for range auditDepth + 5 { // nobody writes
		l.Order(&Client{}, AuditLine{Action: "resign", Group: "g", Outcome: "done"})
	}
	if got := l.lost.Load(); got != 5 {
		t.Errorf("%d lines lost, want 5", got)
	}
	file := l.open(nil)
	l.write(file, <-l.lines)
	var got AuditLine
	if b, err := os.ReadFile(path); err != nil || json.Unmarshal(b, &got) != nil || got.Lost != 5 {
		t.Errorf("the first line that was written does not have the number of those that were not: %s, %v", b, err)
	}
	_ = file.Close()
	l.write(file, <-l.lines) // the disk is gone
	if l.lost.Load() != 1 || l.lostEver.Load() != 6 {
		t.Errorf("a line that could not be written is not counted: %d, %d", l.lost.Load(), l.lostEver.Load())
	}
	for len(l.lines) > 0 {
		<-l.lines
	}
	for range 10 * maxRefusals { // a client that is refused cannot fill the disk
		l.Refusal(&Client{}, "resign", "g", errors.New("no"))
	}
	if n := len(l.lines); n > 2*maxRefusals {
		t.Errorf("%d refusals were written at once", n)
	}
}
