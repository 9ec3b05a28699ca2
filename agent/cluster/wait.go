package cluster

import (
	"fmt"
	"time"
)

// T is what the helpers need of a test. *testing.T, *testing.B and testing.TB have it.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
	Failed() bool
	Cleanup(func())
}

// Patience is how long the helpers wait for what should happen. The host may be busy with other things.
const Patience = 30 * time.Second

// lookFirst is when Eventually asks again at first, and lookLast how often it asks in the end: to ask may take as much of a busy host as
// what is waited for.
const (
	lookFirst = 2 * time.Millisecond
	lookLast  = 20 * time.Millisecond
)

// Eventually waits until something holds. It fails the test after Patience, and names what it waited for.
func Eventually(t T, what string, holds func() bool) {
	t.Helper()
	if err := Wait(Patience, what, holds); err != nil {
		t.Fatalf("%v", err)
	}
}

// Wait waits until something holds, for as long as the patience lasts. The error names what it waited for.
func Wait(patience time.Duration, what string, holds func() bool) error {
	begin, every := time.Now(), lookFirst
	for !holds() {
		if time.Since(begin) > patience {
			return fmt.Errorf("waited %v in vain: %s", patience, what)
		}
		time.Sleep(every)
		every = min(every+every/4, lookLast)
	}
	return nil
}

// Open makes a cluster for a test, which fails if the cluster cannot be made. The cluster is closed with the test; what its
// processes logged is shown if the test failed.
func Open(t T, o Options) *Cluster {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("%v", err)
		}
		if t.Failed() {
			t.Logf("%s", c.Logs())
		}
	})
	return c
}

// Judge fails the test if the journals break the rules, or if they tell of fewer leaderships than the test needs in order to
// prove anything.
func (c *Cluster) Judge(t T, atLeast int, r Rules) Report {
	t.Helper()
	var rep Report
	var err error
	// A program that began to lead just now writes it down in a moment.
	_ = Wait(enough, "", func() bool { rep, err = c.Check(r); return len(rep.Spans) >= atLeast })
	if err != nil {
		t.Errorf("%v", err)
	}
	if len(rep.Spans) < atLeast {
		t.Errorf("the journals tell of %d leaderships, of at least %d: nothing can be judged", len(rep.Spans), atLeast)
	}
	return rep
}

// enough is how long Judge waits for the journals.
const enough = 5 * time.Second
