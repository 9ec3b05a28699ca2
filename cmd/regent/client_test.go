package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

// Whoever may not open the socket is not told to start the agent, whichever command is used.
func TestWhatToDoAboutAnAgentThatIsNotThere(t *testing.T) {
	for err, want := range map[error]string{
		fmt.Errorf("dial: %w", syscall.EACCES):       "permission denied: x.sock (run the command as root, or as a member of the group that owns the socket",
		fmt.Errorf("dial: %w", fs.ErrNotExist):       "no agent listens at x.sock: start it with",
		fmt.Errorf("dial: %w", syscall.ECONNREFUSED): "no agent listens at x.sock: start it with",
	} {
		if got := notThere("x.sock", err); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
	for _, err := range []error{nil, errors.New("it speaks another version")} {
		if got := notThere("x.sock", err); got != "" {
			t.Errorf("%v: %q, want nothing", err, got)
		}
	}
}
