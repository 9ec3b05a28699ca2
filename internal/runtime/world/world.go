// Package world is what a member of a council stands in: a clock, a network and a resolver of names. Package regent makes the real
// one. Tests of this repository put another one into the context of Join, and so join members in memory without an exported API for
// it. By the same way the agent learns what a member waits for before it has begun, and changes its keys meanwhile.
package world

import (
	"context"
	"net/netip"

	"github.com/regentproject/regent/internal/clock"
	"github.com/regentproject/regent/internal/protocol/order"
	"github.com/regentproject/regent/internal/runtime"
)

// A World is what a member stands in.
type World struct {
	Clock clock.Clock
	// Listen opens the socket, and a way to wait for it.
	Listen func(bind netip.AddrPort) (runtime.Socket, runtime.Waiter, error)
	// Lookup resolves a host name.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Started is called with a function that ends the member without a word, as kill -9 does; nil: nothing is.
	Started func(kill func())
}

type key struct{}

// Into returns a context in which members join in a world.
func Into(ctx context.Context, w World) context.Context { return context.WithValue(ctx, key{}, w) }

// From returns the world of a context; false if there is none.
func From(ctx context.Context) (World, bool) {
	w, ok := ctx.Value(key{}).(World)
	return w, ok
}

type clockKey struct{}

// WithClock returns a context in which a member that joins reads a clock of its caller, who then can compare its own readings with
// instants of the member.
func WithClock(ctx context.Context, c clock.Clock) context.Context {
	return context.WithValue(ctx, clockKey{}, c)
}

// ClockFrom returns the clock of a context; nil if there is none.
func ClockFrom(ctx context.Context) clock.Clock {
	c, _ := ctx.Value(clockKey{}).(clock.Clock)
	return c
}

type mirrorKey struct{}

// WithMirror returns a context in which a mirror shows the leases of a member that joins as well.
func WithMirror(ctx context.Context, m runtime.Mirror) context.Context {
	return context.WithValue(ctx, mirrorKey{}, m)
}

// MirrorFrom returns the mirror of a context; nil if there is none.
func MirrorFrom(ctx context.Context) runtime.Mirror {
	m, _ := ctx.Value(mirrorKey{}).(runtime.Mirror)
	return m
}

type reportKey struct{}

// PacketCounts says what became of packets, for callers that know nothing of the runtime.
type PacketCounts = runtime.PacketCounts

// WithReport returns a context in which Join reports what a member waits for before it can be asked, and what counts its packets meanwhile.
func WithReport(ctx context.Context, report func(waiting string, counts func() PacketCounts)) context.Context {
	return context.WithValue(ctx, reportKey{}, report)
}

// Report calls the function of WithReport, if the context has one.
func Report(ctx context.Context, waiting string, counts func() PacketCounts) {
	if f, ok := ctx.Value(reportKey{}).(func(string, func() PacketCounts)); ok {
		f(waiting, counts)
	}
}

type rekeyKey[C any] struct{}

// WithRekey returns a context in which Join passes on how to put the keys of another configuration C in force, before it waits for
// anything.
func WithRekey[C any](ctx context.Context, take func(rekey func(C) error)) context.Context {
	return context.WithValue(ctx, rekeyKey[C]{}, take)
}

// Rekey calls the function of WithRekey, if the context has one.
func Rekey[C any](ctx context.Context, rekey func(C) error) {
	if take, ok := ctx.Value(rekeyKey[C]{}).(func(func(C) error)); ok {
		take(rekey)
	}
}

type startKey[M any] struct{}

// WithStart returns a context in which Join passes on a member M as soon as it speaks to others, before it takes part, so that its
// caller can ask meanwhile what it waits for and which members it hears.
func WithStart[M any](ctx context.Context, take func(M)) context.Context {
	return context.WithValue(ctx, startKey[M]{}, take)
}

// Start calls the function of WithStart, if the context has one.
func Start[M any](ctx context.Context, m M) {
	if take, ok := ctx.Value(startKey[M]{}).(func(M)); ok {
		take(m)
	}
}

// Orders are what an agent needs to give orders to the agents of other members, and to take theirs.
type Orders struct {
	// Execute takes an order of another member. It must not wait, and calls answer once.
	Execute func(from string, body []byte, answer func([]byte))
	// Take gets what sends an order and waits for its outcome.
	Take func(SendOrder)
}

// SendOrder sends an order to a member. An error says why there is no outcome; the order may be executed then, unless the outcome says otherwise.
type SendOrder func(ctx context.Context, to string, body []byte) (order.End, error)

type ordersKey struct{}

func WithOrders(ctx context.Context, o Orders) context.Context {
	return context.WithValue(ctx, ordersKey{}, o)
}

func OrdersFrom(ctx context.Context) (Orders, bool) {
	o, ok := ctx.Value(ordersKey{}).(Orders)
	return o, ok
}
