package regent

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

const (
	// resolveEvery is how often names are resolved again, and resolveSoon how often those that did not resolve are.
	resolveEvery = 30 * time.Second
	resolveSoon  = time.Second
	// lookupLimit bounds one look at a name.
	lookupLimit = 5 * time.Second
)

// resolve returns the addresses of all members. A name that does not resolve leaves its member without one for now.
func (m *Member) resolve(ctx context.Context) [][]netip.AddrPort {
	addrs := make([][]netip.AddrPort, len(m.council().peers))
	for i := range addrs {
		addrs[i] = m.resolvePeer(ctx, &m.council().peers[i])
	}
	return addrs
}

func (m *Member) resolvePeer(ctx context.Context, p *Peer) []netip.AddrPort {
	var out []netip.AddrPort
	for _, a := range p.Addrs {
		found, err := m.lookup(ctx, a)
		if err != nil {
			m.log.Warn("the address of a member cannot be resolved; it will be tried again", "peer", p.Name, "addr", a, "err", err)
			continue
		}
		out = append(out, found...)
	}
	return out[:min(len(out), maxAddrs)]
}

// resolveAgain looks from time to time whether names stand for other addresses, and at once when the council has changed.
func (m *Member) resolveAgain(ctx context.Context) {
	for {
		wait := time.Duration(-1)
		if m.named() {
			wait = resolveEvery
			if !m.resolved() {
				wait = resolveSoon
			}
		}
		if !m.awaitResolve(ctx, wait) {
			return
		}
		all := m.council()
		for i := range all.peers {
			if all.absent.Has(protocol.Rank(i)) {
				continue
			}
			p := &all.peers[i]
			found := m.resolvePeer(ctx, p)
			if len(found) == 0 {
				continue // an address that was good is kept while its name does not resolve
			}
			_ = m.loop.Do(func(protocol.Time) {
				if m.council() == all && !slices.Equal(found, m.port.Addrs[i]) {
					m.log.Info("a member has other addresses", "peer", p.Name, "addrs", found)
					m.port.SetAddrs(protocol.Rank(i), found)
				}
			})
		}
	}
}

// awaitResolve waits until names are to be resolved again, for so long at most; -1: until the council changes. It says whether the member goes on.
func (m *Member) awaitResolve(ctx context.Context, wait time.Duration) bool {
	var again <-chan time.Time
	if wait >= 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		again = timer.C
	}
	select {
	case <-again:
	case <-m.changing.resolve:
	case <-ctx.Done():
		return false
	}
	return true
}

// resolved says whether all members have an address.
func (m *Member) resolved() bool {
	done := make(chan bool, 1)
	if m.loop.Do(func(protocol.Time) {
		all := true
		for r, addrs := range m.port.Addrs {
			all = all && (len(addrs) > 0 || m.council().absent.Has(protocol.Rank(r)))
		}
		done <- all
	}) != nil {
		return true
	}
	select {
	case all := <-done:
		return all
	case <-m.loop.Ended():
		return true
	}
}

// named says whether any address has a name in it.
func (m *Member) named() bool {
	for _, p := range m.council().peers {
		for _, a := range p.Addrs {
			host, _, _ := net.SplitHostPort(a)
			if _, err := netip.ParseAddr(host); err != nil {
				return true
			}
		}
	}
	return false
}

// bind returns the address to receive on.
func (m *Member) bind(ctx context.Context) (netip.AddrPort, error) {
	if m.config.Bind != "" {
		found, err := m.lookup(ctx, m.config.Bind)
		if err != nil {
			return netip.AddrPort{}, fmt.Errorf("config: bind: %w", err)
		}
		return found[0], nil
	}
	own := m.resolvePeer(ctx, m.council().me())
	if len(own) == 0 {
		return netip.AddrPort{}, fmt.Errorf("config: own address %s cannot be resolved: set Bind, such as [::]:7400",
			m.council().peers[m.council().self].Addrs[0])
	}
	if len(own) == 1 {
		return own[0], nil
	}
	// Several addresses, one socket: it takes what comes to any of them.
	for _, a := range own {
		if a.Port() != own[0].Port() {
			return netip.AddrPort{}, fmt.Errorf("config: own addresses %v have different ports: set Bind to where all of them lead", own)
		}
	}
	return netip.AddrPortFrom(netip.IPv6Unspecified(), own[0].Port()), nil
}

// lookup resolves host:port.
func (m *Member) lookup(ctx context.Context, addr string) ([]netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address %q: must be host:port", addr)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("address %q: must have a port from 0 to 65535", addr)
	}
	if host == "" {
		return []netip.AddrPort{netip.AddrPortFrom(netip.IPv6Unspecified(), uint16(n))}, nil
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.AddrPort{netip.AddrPortFrom(ip, uint16(n))}, nil
	}
	ips, err := m.world.Lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	out := make([]netip.AddrPort, len(ips))
	for i, ip := range ips {
		out[i] = netip.AddrPortFrom(ip.Unmap(), uint16(n))
	}
	slices.SortFunc(out, netip.AddrPort.Compare)
	return out, nil
}

// lookup asks the system's resolver.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err == nil && len(ips) == 0 {
		err = fmt.Errorf("%s has no address", host)
	}
	return ips, err
}
