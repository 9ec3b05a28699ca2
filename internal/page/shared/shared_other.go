//go:build !linux

package shared

import "github.com/regentproject/regent/internal/page"

// Memory is memory that this system does not have.
type Memory struct{ page.Words }

// New reports that there is none.
func New(int) (*Memory, error) { return nil, ErrUnsupported }

// Map reports that there is none.
func Map(int) (*Memory, error) { return nil, ErrUnsupported }

// Descriptor is not called here.
func (m *Memory) Descriptor() int { return -1 }

// Close does nothing.
func (m *Memory) Close() error { return nil }
