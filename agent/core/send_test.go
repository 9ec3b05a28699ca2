package core

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/internal/protocol/order"
	"github.com/regentproject/regent/internal/runtime/world"
)

// What came of an order at another host is an answer, a sentence that says that nothing was done, or one that says that nobody knows.
func TestOutcomesOfOrdersAreNeverGuessed(t *testing.T) {
	a := new(Agent)
	if _, err := a.Send(t.Context(), "b", nil); !errors.Is(err, ErrNotCarried) {
		t.Errorf("without a council: %v", err)
	}
	for name, c := range map[string]struct {
		end    order.End
		err    error
		status int
		says   string
	}{
		"answered":            {order.End{Outcome: order.Answered, Answer: []byte("yes")}, nil, 0, ""},
		"silent, or older":    {order.End{Outcome: order.NotTaken}, nil, http.StatusServiceUnavailable, "host b does not answer, so nothing was done: its agent is down, out of reach, or of a build that takes no orders from other hosts"},
		"busy":                {order.End{Outcome: order.Busy}, nil, http.StatusServiceUnavailable, "so nothing was done: wait for their outcomes"},
		"no member":           {order.End{Outcome: order.NotTaken}, errors.New("no member"), http.StatusServiceUnavailable, "host b: nothing was done: no member"},
		"fell silent":         {order.End{}, nil, http.StatusGatewayTimeout, "the outcome is unknown"},
		"this agent stopped":  {order.End{}, regent.ErrClosed, http.StatusGatewayTimeout, "the outcome is unknown"},
		"the time is over":    {order.End{}, context.DeadlineExceeded, http.StatusGatewayTimeout, "the outcome is unknown"},
		"its sender has gone": {order.End{}, context.Canceled, 0, "context canceled"},
	} {
		send := world.SendOrder(func(context.Context, string, []byte) (order.End, error) { return c.end, c.err })
		a.send.Store(&send)
		answer, err := a.Send(t.Context(), "b", []byte("x"))
		if c.says == "" {
			if err != nil || string(answer) != "yes" {
				t.Errorf("%s: %q, %v", name, answer, err)
			}
			continue
		}
		var known *api.Error
		status := 0
		if errors.As(err, &known) {
			status = known.Status
		}
		if err == nil || status != c.status || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: status %d, %v", name, status, err)
		}
	}
}
