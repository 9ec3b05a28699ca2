package socket

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/processes"
	"github.com/regentproject/regent/agent/run/address"
	"github.com/regentproject/regent/internal/session"
	"github.com/regentproject/regent/why"
)

// A holding is what the agent does for a program that has it hold addresses: it starts regent vip, which campaigns, adds and deletes with the agent's
// rights, and stops that when the program asks for it, hangs up or loses its right. Everything that keeps the addresses on one host is in that process and those
// that it starts.
type holding struct {
	conn      *conn
	request   *session.Request
	addresses []address.Address
	// stop has an element when it is to end: the reason, if the host must not lead. done is closed when it has.
	stop chan string
	done chan struct{}
}

// holdings are all, by their addresses: one process of this host holds an address.
type holdings struct {
	mu  sync.Mutex
	all map[netip.Addr]*holding
}

const (
	// takeOverWithin is how long the holding before may take to end: its program has just hung up.
	takeOverWithin = 5 * time.Second
	// holderStops is how long the process may take to stop, beyond the lease.
	holderStops = 15 * time.Second
)

// hold begins to hold addresses, or says whether it would.
func (c *conn) hold(r *session.Request) {
	addresses, err := c.mayHold(r)
	if err != nil {
		c.agent.gate.Audit.Refusal(c.client, session.Hold, r.Group, err)
		c.fail(r, err)
		return
	}
	if r.Ask {
		c.send(&session.Event{Event: session.Done, ID: r.ID})
		return
	}
	h := &holding{conn: c, request: r, addresses: addresses, stop: make(chan string, 1), done: make(chan struct{})}
	c.mu.Lock()
	used := c.inUse(r.ID)
	if !used {
		c.holds[r.ID] = h
	}
	c.mu.Unlock()
	if used {
		c.fail(r, errIDInUse)
		return
	}
	c.agent.gate.Audit.Order(c.client, access.AuditLine{Action: session.Hold, Group: r.Group, Outcome: "asked", Detail: strings.Join(r.Addresses, " ")})
	c.tasks.Go(func() {
		h.run()
		c.mu.Lock()
		delete(c.holds, r.ID)
		c.mu.Unlock()
		close(h.done)
	})
}

// mayHold returns the addresses of a request, or says why the agent does not hold them.
func (c *conn) mayHold(r *session.Request) ([]address.Address, error) {
	addresses, err := address.ParseAll(r.Addresses)
	if err == nil {
		err = c.agent.gate.PermitAddresses(c.client, r.Group, addresses)
	}
	if err == nil {
		err = MayAdd()
	}
	return addresses, err
}

// MayAdd says why this agent cannot add addresses.
func MayAdd() error {
	switch {
	case address.Supported != nil:
		return address.Supported
	case !address.MayChange():
		return processes.ErrNoHolder
	}
	return nil
}

// run holds the addresses until the process ends.
func (h *holding) run() {
	c, r := h.conn, h.request
	fail := func(err error) { c.send(&session.Event{Event: session.Failed, ID: r.ID, Error: err.Error()}) }
	if err := h.takeOver(); err != nil {
		fail(err)
		return
	}
	defer h.leave()
	p, err := processes.StartHolder(h.args(), func(text string, log bool) {
		c.send(&session.Event{Event: session.Printed, ID: r.ID, Text: text, Log: log})
	})
	if err != nil {
		fail(fmt.Errorf("start regent vip: %w", err))
		return
	}
	ended := make(chan struct{})
	go func() {
		select {
		case reason := <-h.stop:
			p.Stop(reason)
		case <-c.closed.Done():
			p.Stop("")
		case <-ended:
			return
		}
		select {
		case <-time.After(holderStops + c.agent.core.ProgramTiming().LongestLease):
			p.Kill()
		case <-ended:
		}
	}()
	status := p.Wait()
	close(ended)
	p.Stop("")
	c.send(&session.Event{Event: session.Over, ID: r.ID, Status: status})
}

// args are those of the process. What the program names comes after --, so that none of it is a flag.
func (h *holding) args() []string {
	r := h.request
	out := []string{"--json", "--socket", h.conn.agent.core.Config().Socket.Path, "--lease", r.Lease.String(), "--wait", r.Wait.String()}
	if r.Once {
		out = append(out, "--once")
	}
	if r.Quiet {
		out = append(out, "--quiet")
	}
	return append(append(out, "--", r.Group), r.Addresses...)
}

// takeOver waits until no other process of this agent holds one of the addresses.
func (h *holding) takeOver() error {
	limit := time.NewTimer(takeOverWithin)
	defer limit.Stop()
	for {
		other := h.conn.agent.holdings.enter(h)
		if other == nil {
			return nil
		}
		select {
		case <-other.done:
		case <-h.conn.closed.Done():
			return errors.New("the program has hung up")
		case <-limit.C:
			return fmt.Errorf("the agent holds an address of these for another program, of %v (pid %d): stop that one first", other.conn.client, other.conn.pid())
		}
	}
}

// enter enters a holding under all of its addresses, or returns one that has one of them.
func (s *holdings) enter(h *holding) *holding {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range h.addresses {
		if other := s.all[a.Prefix.Addr()]; other != nil {
			return other
		}
	}
	for _, a := range h.addresses {
		s.all[a.Prefix.Addr()] = h
	}
	return nil
}

func (h *holding) leave() {
	s := &h.conn.agent.holdings
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range h.addresses {
		delete(s.all, a.Prefix.Addr())
	}
}

// end ends a holding, and answers the request for that when it has ended.
func (c *conn) endHolding(r *session.Request, h *holding) {
	reason := ""
	if r.Cause != nil && r.Cause.Why == why.Unhealthy {
		reason = "not healthy, as regent vip of " + c.client.String() + " says"
	}
	h.give(reason)
	c.inBackground(r, func() {
		<-h.done
		c.send(&session.Event{Event: session.Done, ID: r.ID})
	})
}

func (h *holding) give(reason string) {
	select {
	case h.stop <- reason:
	default: // it ends already
	}
}

// Recheck ends what the rights in force do not allow any more. It comes after a reload.
func (a *Server) Recheck() {
	a.holdings.mu.Lock()
	defer a.holdings.mu.Unlock()
	seen := make(map[*holding]bool)
	for _, h := range a.holdings.all {
		if seen[h] {
			continue
		}
		seen[h] = true
		err := a.gate.PermitAddresses(h.conn.client, h.request.Group, h.addresses)
		if err == nil {
			err = a.gate.Permit(h.conn.client, access.MayLead, h.request.Group)
		}
		if err != nil {
			a.gate.Audit.Refusal(h.conn.client, session.Hold, h.request.Group, err)
			h.conn.send(&session.Event{Event: session.Printed, ID: h.request.ID, Log: true, Text: "regent vip: " + err.Error()})
			h.give("")
		}
	}
}
