package members

import (
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/internal/protocol/nerio"
)

func TestCouncilWithDifferentVotesDoesNotChange(t *testing.T) {
	q, err := protocol.Weighted([]int{2, 2, 1}, 3)
	if err != nil {
		t.Fatal(err)
	}
	c := config("a", first("abc"), true)
	leases := c.Leases
	c.Leases = func(conf *council.Config) nerio.Config {
		n := leases(conf)
		n.Quorums = q
		return n
	}
	if _, err := New(c, nil, 1); err == nil || !strings.Contains(err.Error(), "need not have a member in common") {
		t.Errorf("got %v, want the reason", err)
	}
}
