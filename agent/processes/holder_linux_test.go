package processes

import (
	"slices"
	"strings"
	"testing"
)

// What a process prints is passed on line by line, however it is cut, and no line without an end fills the memory.
func TestLinesOfAHolderArePassedOnWhole(t *testing.T) {
	var got []string
	w := &lineWriter{take: func(text string) { got = append(got, text) }}
	for _, part := range []string{"a", "b\nc\n", "", "\nd\xff", "e\n", strings.Repeat("x", 3*longestText), "y\nz\n", "no end"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("%q: %d, %v", part, n, err)
		}
	}
	if want := []string{"ab", "c", "", "d?e", strings.Repeat("x", longestText), "z"}; !slices.Equal(got, want) {
		t.Errorf("%.80q, want %.80q", got, want)
	}
	if len(w.rest) > longestText {
		t.Errorf("%d bytes are kept", len(w.rest))
	}
}

// What tells the agent about its service is not for a process that it starts: it would speak in the agent's name.
func TestAHolderIsNotTheService(t *testing.T) {
	if got := withoutService([]string{"A=1", "NOTIFY_SOCKET=/x", "WATCHDOG_USEC=1", "WATCHDOG_PID=2", "NOTIFY_SOCKETS=3"}); !slices.Equal(got, []string{"A=1", "NOTIFY_SOCKETS=3"}) {
		t.Errorf("%q", got)
	}
}
