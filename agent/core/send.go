package core

import (
	"context"
	"errors"
	"net/http"

	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/internal/protocol/order"
	"github.com/regentproject/regent/internal/runtime/world"
)

// TakeOrders has orders of the agents of other members executed. Call it before Join.
func (a *Agent) TakeOrders(execute func(ctx context.Context, from string, body []byte) (answer []byte)) {
	a.execute = execute
}

// orders is what the member needs to know of orders.
func (a *Agent) orders() world.Orders {
	return world.Orders{
		Execute: func(from string, body []byte, answer func([]byte)) {
			go func() { answer(a.execute(a.present, from, body)) }()
		},
		Take: func(send world.SendOrder) { a.send.Store(&send) },
	}
}

// ErrNotCarried says that the members of this agent's council carry no orders, as on an engine.
var ErrNotCarried = errors.New("orders are not passed on between the hosts of this council")

// Send has the agent of another member execute an order, at most once, and waits for its answer. The error says what became of the order otherwise.
func (a *Agent) Send(ctx context.Context, to string, body []byte) ([]byte, error) {
	send := a.send.Load()
	if send == nil {
		return nil, ErrNotCarried
	}
	e, err := (*send)(ctx, to, body)
	switch {
	case e.Outcome == order.Answered:
		return e.Answer, nil
	case errors.Is(err, context.Canceled):
		return nil, err // the sender does not wait
	case err != nil && e.Outcome == order.NotTaken:
		return nil, api.Errorf(http.StatusServiceUnavailable, "host %s: nothing was done: %w", to, err)
	case e.Outcome == order.NotTaken:
		return nil, api.Errorf(http.StatusServiceUnavailable, "host %s does not answer, so nothing was done: its agent is down, out of reach, or of a build that takes no orders from other hosts", to)
	case e.Outcome == order.Busy:
		return nil, api.Errorf(http.StatusServiceUnavailable, "too many orders are under way between this host and %s, so nothing was done: wait for their outcomes", to)
	}
	return nil, api.Errorf(http.StatusGatewayTimeout, "the outcome is unknown: host %s received the order and has not answered since, so it may have carried it out (see 'regent who' and 'regent members' before you give it again)", to)
}
