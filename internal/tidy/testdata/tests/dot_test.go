package tests

import (
	"testing"
	. "time"
)

func TestDot(t *testing.T) {
	Sleep(Second) // want "sleeps on the wall clock"
}
