//go:build !linux

package cluster

import "errors"

// CanNamespaces returns why hosts cannot be namespaces here; nil if they can.
func CanNamespaces() error { return errors.New("network namespaces: there are none on this system") }

func newNamespaces([]string) (hosts, error) { return nil, CanNamespaces() }
