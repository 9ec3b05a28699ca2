//go:build !linux

package main

import (
	"errors"
	"time"
)

func capture(string, time.Duration) ([]byte, error) {
	return nil, errors.New("record a packet: only on Linux")
}
