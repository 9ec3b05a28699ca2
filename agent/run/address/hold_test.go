package address

import (
	"context"
	"errors"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/internal/clock"
)

// fakeKernel keeps addresses in memory, until their lifetimes end.
type fakeKernel struct {
	mu      sync.Mutex
	ends    map[string]time.Time
	sets    int
	told    int
	other   string
	refuses error
}

func (k *fakeKernel) Set(a Address, lifetime time.Duration) (news bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.refuses != nil {
		return false, k.refuses
	}
	_, there := k.ends[a.String()]
	k.ends[a.String()] = time.Now().Add(lifetime)
	k.sets++
	return !there, nil
}

func (k *fakeKernel) Delete(a Address) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.ends, a.String())
	return nil
}

func (k *fakeKernel) Announce(Address) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told++
	return nil
}

func (k *fakeKernel) Probe(Address) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.other, nil
}

func (k *fakeKernel) has(text string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Now().Before(k.ends[text])
}

// counts returns how often the kernel was called, how often neighbours were told, and how many addresses it was not told to delete.
func (k *fakeKernel) counts() (sets, told, left int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.sets, k.told, len(k.ends)
}

// change changes what the kernel does.
func (k *fakeKernel) change(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
}

// A scene is a holder of two addresses in virtual time, and its runner.
type scene struct {
	kernel *fakeKernel
	stop   context.CancelFunc
	hang   func()
	ended  chan struct{}

	mu     sync.Mutex
	until  time.Time
	healed int
	events []Event
	// duplicates are those of the last question.
	duplicates map[string]string
}

var both = []string{"10.0.0.9/24@eth0", "fd00::9/64@eth0"}

func play(t *testing.T) *scene {
	t.Helper()
	s := &scene{kernel: &fakeKernel{ends: make(map[string]time.Time)}, ended: make(chan struct{})}
	mine, its := net.Pipe()
	s.hang = func() { _ = mine.Close() }
	t.Cleanup(s.hang)
	go Serve(mine, func(q Question) Answer {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.duplicates = q.Duplicates
		return Answer{Remaining: time.Until(s.until), Healed: s.healed}
	})
	addresses, err := ParseAll(both)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.stop = cancel
	h := &Holder{Clock: clock.Package(), Kernel: s.kernel, Runner: its, Report: func(e Event) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.events = append(s.events, e)
	}}
	go func() {
		defer close(s.ended)
		h.Hold(ctx, addresses)
		_ = its.Close()
	}()
	return s
}

// renew extends the leadership by five seconds, again and again.
func (s *scene) renew(times int) {
	for range times {
		s.mu.Lock()
		s.until = time.Now().Add(5 * time.Second)
		s.mu.Unlock()
		// wall clock: it is virtual; all callers are in a bubble
		time.Sleep(500 * time.Millisecond)
	}
}

func (s *scene) saw(e Event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.events, e)
}

func TestAHolderHasItsAddressesWhileItsRunnerRenews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t)
		s.renew(20)
		for _, a := range both {
			if !s.kernel.has(a) || !s.saw(Event{Event: Held, Address: a}) {
				t.Errorf("%s: is not held", a)
			}
		}
		if n, _, _ := s.kernel.counts(); n < 16 || n > 22 {
			t.Errorf("%d calls for two addresses in 10 s, want about 20", n)
		}
		s.stop()
		<-s.ended
		if _, _, left := s.kernel.counts(); left != 0 || !s.saw(Event{Event: Released, Address: both[0]}) {
			t.Errorf("%d are left", left)
		}
	})
}

func TestAHolderDeletesAtTheDeadlineOfARunnerThatRenewsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t)
		s.renew(4)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if _, _, left := s.kernel.counts(); left != 0 {
			t.Errorf("%d are left", left)
		}
		s.stop()
		<-s.ended
	})
}

func TestAHolderEndsWithItsRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t)
		s.renew(4)
		s.hang()
		<-s.ended
		if _, _, left := s.kernel.counts(); left != 0 {
			t.Errorf("%d are left", left)
		}
	})
}

func TestAnotherHostThatHasTheAddressIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t)
		s.kernel.change(func() { s.kernel.other = "02:00:00:00:00:01" })
		s.renew(60)
		n := 0
		s.mu.Lock()
		for _, e := range s.events {
			if reflect.DeepEqual(e, Event{Event: Duplicate, Address: both[0], Hardware: "02:00:00:00:00:01"}) {
				n++
			}
		}
		s.mu.Unlock()
		if n != 1 {
			t.Errorf("reported %d times, want once", n)
		}
		told := func() (host string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.duplicates[both[0]]
		}
		if got := told(); got != "02:00:00:00:00:01" {
			t.Errorf("the runner knows of %q", got)
		}
		s.kernel.change(func() { s.kernel.other = "" })
		s.renew(20)
		if got := told(); got != "" {
			t.Errorf("the runner knows of %q after that host has given the address up", got)
		}
		s.stop()
		<-s.ended
	})
}

func TestNeighboursAreToldAgainWhenAMemberIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t)
		s.renew(20)
		_, before, _ := s.kernel.counts()
		s.mu.Lock()
		s.healed++
		s.mu.Unlock()
		s.renew(2)
		if _, told, _ := s.kernel.counts(); told <= before {
			t.Error("nobody was told again")
		}
		s.stop()
		<-s.ended
	})
}

// An address that another process or the network has taken away is added again by the next refresh, which neighbours must learn of.
func TestNeighboursAreToldAgainOfAnAddressThatWasTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t)
		s.renew(20)
		_, before, _ := s.kernel.counts()
		s.kernel.change(func() { delete(s.kernel.ends, both[1]) })
		s.renew(4)
		if _, told, _ := s.kernel.counts(); told <= before || !s.kernel.has(both[1]) {
			t.Error("nobody was told again")
		}
		s.stop()
		<-s.ended
	})
}

func TestACallThatFailsIsReportedAndTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t)
		s.kernel.change(func() { s.kernel.refuses = errors.New("not now") })
		s.renew(5)
		if !s.saw(Event{Event: Failed, Address: both[0], Error: "not now"}) {
			t.Error("not reported")
		}
		s.kernel.change(func() { s.kernel.refuses = nil })
		s.renew(5)
		if !s.kernel.has(both[0]) {
			t.Error("not tried again")
		}
		s.stop()
		<-s.ended
	})
}

func TestAddressesAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.9/24@eth0": "", "fd00::9/64@eth0": "", "::ffff:10.0.0.9/120@eth0": "version 4", "10.0.0.9/24": "no interface", "10.0.0.9@eth0": "write ADDRESS/LENGTH@INTERFACE",
		"10.0.0.9/33@eth0": "write ADDRESS", "127.0.0.1/8@lo": "address of a host", "224.0.0.1/4@eth0": "address of a host", "10.0.0.9/24@a/b": "no interface",
		"10.0.0.9/24@averyverylongname": "no interface", "0.0.0.0/0@eth0": "address of a host",
	} {
		a, err := Parse(text)
		switch {
		case want == "" && (err != nil || a.String() != text):
			t.Errorf("%s: got %v, %v", text, a, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	if _, err := ParseAll([]string{"10.0.0.9/24@eth0", "10.0.0.9/16@eth1"}); err == nil {
		t.Error("an address was taken twice")
	}
}
