package measure

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/regentproject/regent/agent/plan"
)

const (
	// probeSize is that of a probe and of its echo, about that of a renewal. Others are dropped, so that nobody has this host send more than they sent.
	probeSize = 128
	// probeMagic begins every probe.
	probeMagic = 0x7265676e742d7031
	// probeEvery is how often a peer is asked, probeLost after what time an answer counts as lost, and probeLate after what time at the end.
	probeEvery = 50 * time.Millisecond
	probeLost  = 2 * time.Second
	probeLate  = 500 * time.Millisecond
	// echoRate is how many probes a second are answered at most.
	echoRate = 2000
)

// Echo answers probes until the context ends. It returns how many.
func Echo(ctx context.Context, conn net.PacketConn) (answered uint64, err error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	buf := make([]byte, probeSize+1)
	var second time.Time
	inSecond := 0
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			if ctx.Err() != nil {
				return answered, nil
			}
			return answered, fmt.Errorf("probe: %w", err)
		}
		if n != probeSize || binary.BigEndian.Uint64(buf) != probeMagic {
			continue
		}
		if now := time.Now(); now.Sub(second) >= time.Second {
			second, inSecond = now, 0
		}
		inSecond++
		if inSecond > echoRate {
			continue
		}
		if _, err := conn.WriteTo(buf[:n], from); err == nil {
			answered++
		}
	}
}

// A peer is an echo server that is asked.
type peer struct {
	addr string
	conn net.Conn
	mu   sync.Mutex
	sent map[uint64]time.Time
}

func dialPeer(addr string) (*peer, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, fmt.Errorf("peer %q: must be host:port, where 'regent plan probe' runs", addr)
	}
	conn, err := net.Dial("udp", addr)
	if err != nil {
		return nil, fmt.Errorf("peer %s: %w", addr, err)
	}
	return &peer{addr: addr, conn: conn, sent: make(map[uint64]time.Time)}, nil
}

// run asks until the context ends.
func (p *peer) run(ctx context.Context, to *trips) {
	var reading sync.WaitGroup
	reading.Go(func() { p.read(to) })
	every := time.NewTicker(probeEvery)
	defer every.Stop()
	buf := make([]byte, probeSize)
	binary.BigEndian.PutUint64(buf, probeMagic)
	for n := uint64(1); ; n++ {
		select {
		case <-ctx.Done():
			_ = p.conn.Close()
			reading.Wait()
			for _, at := range p.sent {
				if time.Since(at) > probeLate {
					to.lost(p.addr)
				}
			}
			return
		case <-every.C:
		}
		binary.BigEndian.PutUint64(buf[8:], n)
		now := time.Now()
		p.mu.Lock()
		p.sent[n] = now
		for k, at := range p.sent {
			if now.Sub(at) > probeLost {
				delete(p.sent, k)
				to.lost(p.addr)
			}
		}
		p.mu.Unlock()
		_, _ = p.conn.Write(buf) // one that fails counts as lost
	}
}

// read takes answers.
func (p *peer) read(to *trips) {
	buf := make([]byte, probeSize+1)
	for {
		n, err := p.conn.Read(buf)
		now := time.Now()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil || n != probeSize || binary.BigEndian.Uint64(buf) != probeMagic {
			continue // nobody listens there yet
		}
		k := binary.BigEndian.Uint64(buf[8:])
		p.mu.Lock()
		at, ok := p.sent[k]
		delete(p.sent, k)
		p.mu.Unlock()
		if ok {
			to.add(p.addr, now.Sub(at), false)
		}
	}
}

// trips collects round trips by peer.
type trips struct {
	mu sync.Mutex
	by map[string]*trip
}

type trip struct {
	took     []time.Duration
	lost     int
	smoothed bool
}

func newTrips() *trips { return &trips{by: make(map[string]*trip)} }

func (t *trips) of(peer string) *trip {
	if t.by[peer] == nil {
		t.by[peer] = &trip{}
	}
	return t.by[peer]
}

func (t *trips) add(peer string, d time.Duration, smoothed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.of(peer)
	p.took, p.smoothed = append(p.took, d), smoothed
}

func (t *trips) lost(peer string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(peer).lost++
}

// all returns them by name. A peer that never answered is listed with its losses.
func (t *trips) all() []plan.Trip {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []plan.Trip
	for name, p := range t.by {
		one := plan.Trip{Peer: name, Count: len(p.took), Lost: p.lost, Smoothed: p.smoothed}
		if len(p.took) > 0 {
			slices.Sort(p.took)
			one.Median, one.Longest = p.took[len(p.took)/2], p.took[len(p.took)-1]
		}
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b plan.Trip) int { return strings.Compare(a.Peer, b.Peer) })
	return out
}

// askTrips asks the agent of this host, at once and then every second.
func askTrips(ctx context.Context, ask func(context.Context) map[string]time.Duration, to *trips) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		for peer, d := range ask(ctx) {
			if d > 0 {
				to.add(peer, d, true)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}
