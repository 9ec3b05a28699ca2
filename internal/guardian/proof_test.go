package guardian

import "testing"

const leader = 100

func scanOf(count int, threads ...Thread) *Scan {
	return &Scan{Before: count, After: count, Threads: threads}
}

func TestProcessIsDeadOnceAllItsThreadsAreExiting(t *testing.T) {
	a, b := Thread{leader, true}, Thread{101, true}
	for name, c := range map[string]struct {
		first, second *Scan
		want          bool
	}{
		"all threads exiting":                  {scanOf(2, a, b), scanOf(2, a, b), true},
		"one gone meanwhile":                   {scanOf(2, a, b), scanOf(1, a), true},
		"one runs":                             {scanOf(2, a, Thread{101, false}), scanOf(2, a, b), false},
		"one ran in the second":                {scanOf(2, a, b), scanOf(2, a, Thread{101, false}), false},
		"more counted than listed":             {scanOf(3, a, b), scanOf(3, a, b), false},
		"more counted before":                  {&Scan{Before: 3, After: 2, Threads: []Thread{a, b}}, scanOf(2, a, b), false},
		"more counted after":                   {&Scan{Before: 2, After: 3, Threads: []Thread{a, b}}, scanOf(2, a, b), false},
		"the first thread is missing":          {scanOf(1, b), scanOf(1, b), false},
		"a thread that only the second listed": {scanOf(2, a, b), scanOf(2, a, Thread{102, true}), false},
		"nothing":                              {&Scan{}, &Scan{}, false},
	} {
		if got := Dead(leader, c.first, c.second); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The first thread of a program with C has ended by itself. Another one starts a third and is gone before the threads are counted
// again: one scan alone takes the process for dead while the third thread runs.
func TestThreadThatOneScanMissesIsFoundByTheNext(t *testing.T) {
	first := scanOf(2, Thread{leader, true}, Thread{101, true}) // 101 has started 102 after the list, and is gone at the second count
	second := scanOf(2, Thread{leader, true}, Thread{102, false})
	if !first.exiting(leader) {
		t.Fatal("the first scan shows nothing: this is not the case that it is about")
	}
	if Dead(leader, first, second) {
		t.Error("the process is taken for dead")
	}
}

func TestStateOfAThreadIsRead(t *testing.T) {
	const stat = "101 (a) b) (c) S 1 101 101 0 -1 4194372 500 0 0 0 1 2 0 0 20 0 7 0 300 1000 50 1844"
	exiting, threads, err := ParseStat([]byte(stat))
	if err != nil || !exiting || threads != 7 {
		t.Errorf("got %v, %d, %v", exiting, threads, err)
	}
	for _, bad := range []string{"", "101 (a", "101 (a) S 1 2 3", "101 (a) S 1 101 101 0 -1 x 500 0 0 0 1 2 0 0 20 0 7 0", "101 (a) S 1 101 101 0 -1 4 500 0 0 0 1 2 0 0 20 0 x 0"} {
		if _, _, err := ParseStat([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
