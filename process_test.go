package regent_test

import (
	"os"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/town"
)

// The test binary is also the member: with this variable set it is the inside of a town.
const memberEnv = "REGENT_TEST_MEMBER"

func TestMain(m *testing.M) {
	if os.Getenv(memberEnv) != "" {
		os.Exit(town.Serve(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Setenv(memberEnv, "1") // for the children only: this process has looked already
	os.Exit(m.Run())
}

// newTown returns a town of member processes.
func newTown(t testing.TB, change func(*town.Options), names ...string) *folk {
	t.Helper()
	o := town.Options{Names: names, Dir: t.TempDir(), Timing: regent.LAN, Command: town.Self(), Poll: time.Millisecond,
		Log: func(member, line string) { t.Logf("%s: %s", member, line) }}
	if change != nil {
		change(&o)
	}
	w, err := town.New(o)
	if err != nil {
		t.Fatal(err)
	}
	f := &folk{Town: w, t: t}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// folk is a town with a test.
type folk struct {
	*town.Town
	t testing.TB
	// held are all leaderships that programs wrote down.
	held []town.Event
}

// start starts members.
func (f *folk) start(names ...string) {
	f.t.Helper()
	for _, name := range names {
		if err := f.Start(name); err != nil {
			f.t.Fatal(err)
		}
	}
}

// must fails the test if something could not be done.
func (f *folk) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// await waits for an event.
func (f *folk) await(what string, match func(*town.Event) bool) town.Event {
	f.t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case e := <-f.Events():
			f.note(&e)
			if match(&e) {
				return e
			}
		case <-limit:
			f.t.Fatalf("waited too long for %s", what)
		}
	}
}

// note keeps what programs wrote down, and checks that no two of them led at one instant.
func (f *folk) note(e *town.Event) {
	f.t.Helper()
	switch e.What {
	case town.Failed:
		f.t.Logf("%s failed: %s", e.Member, e.Text)
	case town.Held:
		for _, h := range f.held {
			if both := min(h.Until, e.Until) - max(h.Since, e.Since); both > 0 {
				f.t.Errorf("%s (token %d) and %s (token %d) both led for %v", h.Member, h.Token, e.Member, e.Token, time.Duration(both))
			}
		}
		f.held = append(f.held, *e)
	}
}

func leads(e *town.Event) bool { return e.What == town.Leads }

func TestThreeProcessesElectLoseAndElectAgain(t *testing.T) {
	f := newTown(t, nil, "a", "b", "c")
	f.start("a", "b", "c")
	var last uint64
	for range 4 {
		e := f.await("a leader", leads)
		if e.Token <= last {
			t.Errorf("token %d after %d", e.Token, last)
		}
		last = e.Token
		f.must(f.Crash(e.Member))
		f.start(e.Member)
	}
}
