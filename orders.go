package regent

import (
	"context"
	"fmt"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/order"
	"github.com/regentproject/regent/internal/runtime"
	"github.com/regentproject/regent/internal/runtime/world"
)

// openOrders lets an agent give orders to those of other members, and take theirs. A program that is no agent takes none.
func (m *Member) openOrders(ctx context.Context) error {
	o, ok := world.OrdersFrom(ctx)
	if !ok {
		return nil
	}
	courier := runtime.NewCourier(m.loop, func(from protocol.Rank, body []byte, answer func([]byte)) {
		o.Execute(m.council().name(from), body, answer)
	})
	if err := courier.Open(); err != nil {
		return err
	}
	o.Take(func(ctx context.Context, to string, body []byte) (order.End, error) {
		c := m.council()
		rank, ok := c.rank(to)
		if !ok || c.absent.Has(rank) {
			return order.End{Outcome: order.NotTaken}, fmt.Errorf("no member %q in the council", to)
		}
		return courier.Send(ctx, rank, body)
	})
	return nil
}
