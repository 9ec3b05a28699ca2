package check

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

func at(ms int) sim.Real { return sim.Real(0).Add(time.Duration(ms) * time.Millisecond) }

func sent(t, id int, from protocol.Ident, to protocol.Ident) sim.Record {
	r := sim.Record{T: at(t), Node: from.Rank, Inc: from.Inc}
	r.Ev, r.Seq, r.Peer, r.Why = sim.EvSend, uint64(id), to, "word"
	return r
}

func delivered(t, id int, from, to protocol.Ident, sentAt int, bound time.Duration) sim.Record {
	r := sim.Record{T: at(t), Node: to.Rank, Inc: to.Inc}
	r.Ev, r.Seq, r.Peer, r.Why, r.Detail = sim.EvDeliver, uint64(id), from, "word", sim.Delivery{Sent: at(sentAt), Bound: int64(bound)}
	return r
}

func healed(t int, core protocol.Set) sim.Record {
	r := sim.Record{T: at(t), Node: protocol.Nobody}
	r.Ev, r.Why, r.Members = sim.EvPhase, sim.Liveness, core
	return r
}

func named(r protocol.Rank, inc protocol.Inc) protocol.Ident {
	return protocol.Ident{Rank: r, Inc: inc}
}

func TestDatagramCheckersTellRightFromWrong(t *testing.T) {
	const ms = time.Millisecond
	a, a2, b, b2 := named(0, 1), named(0, 2), named(1, 1), named(1, 2)
	core := protocol.NewSet(0, 1)
	for _, c := range []struct {
		name  string
		check Checker
		trace []sim.Record
		want  string // in the error; empty: all is well
	}{
		{"a bound above the delay", NewBounded(), []sim.Record{delivered(10, 1, a, b, 5, 6*ms)}, ""},
		{"a bound below the delay", NewBounded(), []sim.Record{delivered(10, 1, a, b, 5, 4*ms)}, "FA1 violated"},
		{"no bound", NewBounded(), []sim.Record{delivered(10, 1, a, b, 5, -1)}, ""},
		{"to oneself", NewBounded(), []sim.Record{delivered(10, 1, a, a, 5, 0)}, ""},
		{"slow before all is well", NewTimely(10*ms, 100*ms), []sim.Record{healed(0, core), delivered(90, 1, a, b, 80, 20*ms), delivered(190, 1, a, b, 180, 10*ms)}, ""},
		{"sent before all is well", NewTimely(10*ms, 100*ms), []sim.Record{healed(0, core), delivered(150, 1, a, b, 99, 60*ms), delivered(190, 1, a, b, 180, 10*ms)}, ""},
		{"slow when all is well", NewTimely(10*ms, 100*ms), []sim.Record{healed(0, core), delivered(150, 1, a, b, 140, 11*ms)}, "FA2 violated"},
		{"unknown when all is well", NewTimely(10*ms, 100*ms), []sim.Record{healed(0, core), delivered(150, 1, a, b, 140, -1)}, "FA2 violated"},
		{"from outside of the core", NewTimely(10*ms, 100*ms), []sim.Record{healed(0, core), delivered(150, 1, named(2, 1), b, 140, -1), delivered(190, 1, a, b, 180, 10*ms)}, ""},
		{"deaf to one another", NewTimely(10*ms, 100*ms), []sim.Record{healed(0, core)}, "FA2 violated"},
		{"two datagrams", NewOnce(), []sim.Record{delivered(1, 1, a, b, 0, 0), delivered(2, 2, a, b, 0, 0)}, ""},
		{"one datagram twice", NewOnce(), []sim.Record{delivered(1, 1, a, b, 0, 0), delivered(2, 1, a, b, 0, 0)}, "FA3 violated"},
		{"what it was meant for", NewPresent(), []sim.Record{sent(0, 1, a, b), delivered(1, 1, a, b, 0, 0)}, ""},
		{"a later incarnation than meant", NewPresent(), []sim.Record{sent(0, 1, a, b), delivered(1, 1, a, b2, 0, 0)}, "FA4 violated"},
		{"an earlier sender after a later one", NewPresent(), []sim.Record{sent(0, 1, a, b), sent(1, 2, a2, b), delivered(2, 2, a2, b, 1, 0), delivered(3, 1, a, b, 0, 0)}, "FA4 violated"},
		{"one who does not know its name", NewPresent(), []sim.Record{sent(0, 1, named(0, 0), b), delivered(1, 1, named(0, 0), b2, 0, 0)}, ""},
	} {
		var err error
		for i := range c.trace {
			err = errors.Join(err, c.check.Observe(&c.trace[i]))
		}
		err = errors.Join(err, c.check.Finish())
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}
