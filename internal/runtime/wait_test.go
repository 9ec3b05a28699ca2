package runtime

import (
	"net"
	"sync"
	"testing"
	"time"
)

// waiters returns one of each kind that this system has.
func waiters(t *testing.T) map[string]Waiter {
	t.Helper()
	all := map[string]Waiter{"chan": NewChanWaiter()}
	if w, err := NewPollWaiter(); err == nil {
		all["poll"] = w
	}
	t.Cleanup(func() {
		for _, w := range all {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
			w.Wake() // that comes too late does nothing
		}
	})
	return all
}

const long = time.Minute

func TestWakeEndsThePresentOrTheNextWait(t *testing.T) {
	for name, w := range waiters(t) {
		t.Run(name, func(t *testing.T) {
			for range 100 {
				w.Wake()
				w.Wake()
				w.Wait(long, 0)
			}
			for range 100 {
				go w.Wake()
				w.Wait(long, 0)
			}
		})
	}
}

func TestNoWakeUpIsLost(t *testing.T) {
	for name, w := range waiters(t) {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			given, taken := 0, 0
			const each, callers = 2000, 4
			for range callers {
				go func() {
					for range each {
						mu.Lock()
						given++
						mu.Unlock()
						w.Wake()
					}
				}()
			}
			limit := time.Now().Add(long)
			for taken < each*callers {
				w.Wait(long, 0) // a lost wake-up is a minute's wait
				mu.Lock()
				taken = given
				mu.Unlock()
				if time.Now().After(limit) {
					t.Fatal("a wake-up was lost")
				}
			}
		})
	}
}

func TestWaitEndsByItself(t *testing.T) {
	for name, w := range waiters(t) {
		t.Run(name, func(t *testing.T) {
			for _, d := range []time.Duration{-1, 0, time.Microsecond, 5 * time.Millisecond} {
				begin := time.Now()
				for time.Since(begin) < d || d <= 0 { // it may return early, if not for nothing for ever
					w.Wait(d-time.Since(begin), 0)
					if d <= 0 {
						break
					}
				}
				if took := time.Since(begin); took > 10*time.Second {
					t.Errorf("a wait of %v took %v", d, took)
				}
			}
		})
	}
}

// listening returns a socket, and a waiter that wakes up for its packets; nil on another system, which has only the other kind.
func listening(t *testing.T) (*net.UDPConn, Waiter) {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var w Waiter
	if err := raw.Control(func(fd uintptr) { w, err = NewPollWaiter(int(fd)) }); err != nil || w == nil {
		return c, nil
	}
	t.Cleanup(func() { w.Close() })
	return c, w
}

func TestPollWaiterWakesUpForPackets(t *testing.T) {
	c, w := listening(t)
	if w == nil {
		return
	}
	if !w.Precise() {
		t.Error("it holds its thread, and does not say so")
	}
	for range 20 {
		if _, err := c.WriteTo([]byte("x"), c.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		w.Wait(long, 0)
		if _, _, err := c.ReadFrom(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
	}
}
