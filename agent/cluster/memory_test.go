package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent"
)

func TestMembersInMemoryElectCrashAndComeBackInFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := Open(t, Options{Names: []string{"a", "b", "c"}, Hosts: Memory, Timing: regent.LAN})
		if err := w.JoinAll(t.Context(), w.Names...); err != nil {
			t.Fatal(err)
		}
		l, err := must(w.Member("a").Group("g")).Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Cut("a"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * regent.LAN.Lease)
		if l.Valid() {
			t.Error("a leads though it is cut off")
		}
		if err := w.HealAll(); err != nil {
			t.Fatal(err)
		}
		next, err := must(w.Member("b").Group("g")).Campaign(t.Context())
		if err != nil || next.Token() <= l.Token() {
			t.Fatalf("token %d after %d: %v", next.Token(), l.Token(), err)
		}
		if err := w.Crash("b"); err != nil {
			t.Fatal(err)
		}
		if err := w.Crash("b"); err == nil {
			t.Error("a member was crashed twice")
		}
		config, err := w.MemberConfig("b")
		if err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		m, err := w.Join(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		if m.Status().Waiting == "" {
			t.Error("a member that crashed votes at once: its record is not that of before")
		}
		if again, err := must(m.Group("g")).Campaign(t.Context()); err != nil || again.Token() <= next.Token() || time.Since(before) < regent.LAN.Lease/2 {
			t.Errorf("it leads again %v after the crash: %v", time.Since(before), err)
		}
		if err := w.Start("a"); err == nil {
			t.Error("a process was started in memory")
		}
	})
}

// must returns a value that a test is about to use.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
