package party

import (
	"context"
	"os"

	"github.com/regentproject/regent/internal/protocol"
)

// A Hold is what an agent knows and does about the lease that it campaigned for, beside the methods of the handle. Programs need
// none of it: one that acts itself either stops or does not, and asks for how long it leads.
type Hold struct {
	// Lapse asks the machine of the lease to let it run out, because something of a program may be left: nothing renews it, and nothing is
	// released before its end. The code and the member are the cause. A lease that is over stays as it is.
	Lapse func(code protocol.CauseCode, member string)
	// Until returns the end of the lease as it stands, on the clock of the member.
	Until func() protocol.Time
	// Entrust has the guardian of the member look for the program of the lease, once the member is dead: runner is a pidfd of what starts it, and cgroup
	// the open cgroup.events of what that has started. The files remain the caller's; nil: there is no guardian.
	Entrust func(runner, cgroup *os.File) error
	// Number tells the leadership from others of its group, also where the lease has no token to show.
	Number uint64
}

type holdKey struct{}

// Into returns a context for a campaign whose lease the hold is then of.
func (h *Hold) Into(ctx context.Context) context.Context { return context.WithValue(ctx, holdKey{}, h) }

// Take gives the hold of a context, if there is one, its lease.
func Take(ctx context.Context, lease Hold) {
	if h, ok := ctx.Value(holdKey{}).(*Hold); ok {
		*h = lease
	}
}
