package httpd

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/regentproject/regent/agent/access"
	"github.com/regentproject/regent/agent/api"
	"github.com/regentproject/regent/agent/config"
)

// An Admission is a TCP listener that bounds how many connections there are, and how many of one source. When a bound is
// reached, the oldest idle connection of the source that has the most makes room for the new one. So silent connections cannot
// keep a load balancer's probe out. A connection is idle unless it serves a request that needs a role.
type Admission struct {
	net.Listener
	limits func() *config.Limits
	// Stay says that no connection makes room for another: all are sessions.
	Stay bool
	// refused counts connections that found no room, evicted those that made room.
	refused, evicted atomic.Uint64

	mu sync.Mutex
	// open are the connections of each source, oldest first, and total counts them.
	open  map[netip.Prefix][]*admitted
	total int
	// busy counts the connections that serve a request that needs a role, of all sources.
	busy int
}

// An admitted is a connection that was let in.
type admitted struct {
	net.Conn
	by   *Admission
	from netip.Prefix
	// serving counts the requests under way that need a role. Guarded by the admission's lock, as gone is.
	serving int
	gone    bool
}

func NewAdmission(l net.Listener, limits func() *config.Limits) *Admission {
	return &Admission{Listener: l, limits: limits, open: make(map[netip.Prefix][]*admitted)}
}

// Reserved is how much of a limit only short requests may use: an eighth, and at least one.
func Reserved(limit int) int {
	if limit < 2 {
		return 0
	}
	return max(1, limit/8)
}

// sourceOf returns the source of a connection.
func sourceOf(a net.Addr) netip.Prefix {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	return access.SourceOf(t.AddrPort().Addr())
}

// Accept waits for the next connection that is let in.
func (b *Admission) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		admitted, evicted := b.admit(c)
		if evicted != nil {
			b.evicted.Add(1)
			_ = evicted.Close()
		}
		if admitted != nil {
			return admitted, nil
		}
		b.refused.Add(1)
		_ = c.Close()
	}
}

// admit lets a connection in, and returns the one that makes room for it. It returns no connection if there is no room.
func (b *Admission) admit(c net.Conn) (in, out *admitted) {
	limits, from := b.limits(), sourceOf(c.RemoteAddr())
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case len(b.open[from]) >= limits.PerSource:
		out = oldestIdle(b.open[from])
	case b.total >= limits.Connections:
		out = b.victim()
	default:
		return b.add(c, from), nil
	}
	if out == nil || b.Stay {
		return nil, nil
	}
	b.remove(out)
	return b.add(c, from), out
}

func (b *Admission) add(c net.Conn, from netip.Prefix) *admitted {
	in := &admitted{Conn: c, by: b, from: from}
	b.open[from] = append(b.open[from], in)
	b.total++
	return in
}

// OpenConns returns how many connections there are.
func (b *Admission) OpenConns() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

// remove takes a connection out of the books, once.
func (b *Admission) remove(c *admitted) {
	if c.gone {
		return
	}
	c.gone = true
	all := b.open[c.from]
	for i := range all {
		if all[i] == c {
			b.open[c.from] = append(all[:i], all[i+1:]...)
			break
		}
	}
	if len(b.open[c.from]) == 0 {
		delete(b.open, c.from)
	}
	b.total--
	if c.serving > 0 {
		b.busy--
	}
}

// victim returns the oldest idle connection of the source that has the most connections and an idle one.
func (b *Admission) victim() *admitted {
	var best *admitted
	most := 0
	for _, all := range b.open {
		if len(all) <= most {
			continue
		}
		if c := oldestIdle(all); c != nil {
			best, most = c, len(all)
		}
	}
	return best
}

func oldestIdle(all []*admitted) *admitted {
	for _, c := range all {
		if c.serving == 0 {
			return c
		}
	}
	return nil
}

// begin takes note that a request that needs a role is served on the connection. It returns false if its source, or all
// sources, have as many of those as they may: the rest is for short requests.
func (c *admitted) begin() bool {
	b, limits := c.by, c.by.limits()
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.serving == 0 {
		here := 0
		for _, other := range b.open[c.from] {
			if other.serving > 0 {
				here++
			}
		}
		if here >= limits.PerSource-Reserved(limits.PerSource) || b.busy >= limits.Connections-Reserved(limits.Connections) {
			return false
		}
		if !c.gone {
			b.busy++
		}
	}
	c.serving++
	return true
}

// end is called after each begin that returned true.
func (c *admitted) end() {
	c.by.mu.Lock()
	defer c.by.mu.Unlock()
	c.serving--
	if c.serving == 0 && !c.gone {
		c.by.busy--
	}
}

func (c *admitted) Close() error {
	c.by.mu.Lock()
	c.by.remove(c)
	c.by.mu.Unlock()
	return c.Conn.Close()
}

type admittedKey struct{}

// ConnContext lets handlers find the connection that a request came by, and the process that opened one on the socket.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	switch c := c.(type) {
	case *admitted:
		return context.WithValue(ctx, admittedKey{}, c)
	case *Peeked:
		return context.WithValue(ctx, access.ClientKey{}, access.Local(c.Conn))
	}
	return ctx
}

// occupy takes a place among the requests under way that need a role. Call done after the answer.
func occupy(q *http.Request, needs access.Role) (done func(), err error) {
	c, ok := q.Context().Value(admittedKey{}).(*admitted)
	if !ok || needs == access.Anonymous {
		return func() {}, nil
	}
	if !c.begin() {
		return nil, api.Errorf(http.StatusServiceUnavailable, "too many requests under way (limits.per_source, limits.connections): wait for answers, or close streams")
	}
	return c.end, nil
}
