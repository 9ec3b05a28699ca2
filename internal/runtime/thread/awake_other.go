//go:build !linux

package thread

import (
	"errors"
	"fmt"
	"io"
)

// HoldAwake is for Linux.
func HoldAwake() (io.Closer, error) {
	return nil, fmt.Errorf("holding the processors awake: %w", errors.ErrUnsupported)
}
