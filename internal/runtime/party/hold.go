package party

import (
	"context"

	"github.com/regentproject/regent/internal/protocol"
)

// A Hold is how a party lets the lease run out that it campaigned for. Handles of leases have no method for it, because a program
// that acts itself either stops or does not: only an agent finds that something of a program may be left.
type Hold struct {
	lapse func(code protocol.CauseCode, member string)
}

type holdKey struct{}

// Into returns a context for a campaign whose lease the hold is then of.
func (h *Hold) Into(ctx context.Context) context.Context { return context.WithValue(ctx, holdKey{}, h) }

// Held gives the hold of a context, if there is one, its lease.
func Held(ctx context.Context, lapse func(code protocol.CauseCode, member string)) {
	if h, ok := ctx.Value(holdKey{}).(*Hold); ok {
		h.lapse = lapse
	}
}

// Lapse asks the machine of the lease to let it run out: nothing renews it, and nothing is released before its end. The code and the
// member are the cause. A lease that is over stays as it is.
func (h *Hold) Lapse(code protocol.CauseCode, member string) { h.lapse(code, member) }
