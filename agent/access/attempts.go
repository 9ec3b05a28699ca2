package access

import (
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

const (
	// A source may name a token that is not known this often at once, and after that once in attemptInterval.
	attemptBurst    = 5
	attemptInterval = 10 * time.Second
	// maxSources bounds how many sources are remembered.
	maxSources = 4096
)

// attempts bounds how often each source may guess a token, by the login form and by bearer tokens together. The unix socket has no tokens, and no limit.
// A source that has guessed too often is refused also if it names a token that is valid: otherwise it would learn that. Other sources are
// not affected: if there are too many to remember, the one whose attempts are forgotten first makes room.
type attempts struct {
	mu sync.Mutex
	// until is when the attempts of a source are forgotten: each adds an interval.
	until map[netip.Prefix]time.Time
}

// try calls known, which says whether a token is valid, unless the source has guessed too often: then it returns how long the source must wait.
// What was no guess costs no attempt.
func (a *attempts) try(now time.Time, from netip.Prefix, known func() bool) (wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	until := a.until[from]
	if until.Before(now) {
		until = now
	}
	if wait := until.Sub(now) - (attemptBurst-1)*attemptInterval; wait > 0 {
		return wait
	}
	if !known() {
		a.makeRoom(now, from)
		a.until[from] = until.Add(attemptInterval)
	}
	return 0
}

// makeRoom forgets sources until there is room for one more.
func (a *attempts) makeRoom(now time.Time, from netip.Prefix) {
	if a.until == nil {
		a.until = make(map[netip.Prefix]time.Time)
	}
	if _, ok := a.until[from]; ok || len(a.until) < maxSources {
		return
	}
	var first netip.Prefix
	// order does not matter: of equals it does not matter which goes
	for p, until := range a.until {
		if until.Before(now) {
			delete(a.until, p)
		} else if !first.IsValid() || until.Before(a.until[first]) {
			first = p
		}
	}
	if len(a.until) >= maxSources {
		delete(a.until, first)
	}
}

// SourceOf returns what counts as one source: an IPv4 address, a network of IPv6, or all of the loopback interface.
func SourceOf(ip netip.Addr) netip.Prefix {
	ip = ip.Unmap().WithZone("")
	bits := ip.BitLen()
	switch {
	case ip.IsLoopback():
		bits = 0 // a client on this host can choose among addresses
	case ip.Is6():
		bits = sourceBits
	}
	p, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// sourceBits is how much of an IPv6 address names the network of its sender: the rest the sender can choose.
const sourceBits = 64

// guess calls known as try does, for the source of a request.
func (a *Gate) guess(r *http.Request, known func() bool) (wait time.Duration) {
	at, _ := netip.ParseAddrPort(r.RemoteAddr)
	return a.attempts.try(time.Now(), SourceOf(at.Addr()), known)
}

// Identify returns who sent a request over TCP. A source that has guessed tokens too often is a stranger that must wait.
func (a *Gate) Identify(r *http.Request) (who *Client) {
	rules := a.Access.Load()
	if !HasBearerToken(r) {
		return rules.identify(r)
	}
	wait := a.guess(r, func() bool {
		who = rules.identify(r)
		return who.Role > Anonymous // a request with a token has no other role
	})
	if wait > 0 {
		who = Stranger(r)
		who.Wait = wait
	}
	return who
}

// A TooManyGuesses refuses a source that has guessed tokens too often.
type TooManyGuesses struct{ Wait time.Duration }

func (t *TooManyGuesses) Error() string {
	return fmt.Sprintf("too many unknown tokens from this address: try again in %v (the unix socket of the agent needs no token)", max(time.Second, t.Wait.Round(time.Second)))
}
