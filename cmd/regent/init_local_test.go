package main

import (
	"errors"
	"testing"
)

func TestPortsOfMembersOnThisHostAreFree(t *testing.T) {
	listenBut := func(taken ...string) func(string) (func() error, error) {
		return func(addr string) (func() error, error) {
			for _, x := range taken {
				if addr == x {
					return nil, errors.New("address already in use")
				}
			}
			return func() error { return nil }, nil
		}
	}
	for _, c := range []struct {
		taken []string
		want  int
	}{
		{nil, 7401},
		{[]string{"127.0.0.1:7404"}, 7401},
		{[]string{"127.0.0.1:7403"}, 7411},
		{[]string{"127.0.0.1:7401", "127.0.0.1:7412"}, 7421},
	} {
		if got := freeFrom(7401, 3, listenBut(c.taken...)); got != c.want {
			t.Errorf("taken %q: from %d on, want %d", c.taken, got, c.want)
		}
	}
}
