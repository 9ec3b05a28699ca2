package page

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"strings"
	"testing"
)

// memory is a page in the hands of a schedule: a thread stops before each word that it loads or stores.
type memory struct {
	words []uint64
	now   *thread // the one that runs; nil: nothing stops
}

func (m *memory) Len() int { return len(m.words) }

func (m *memory) Load(i int) uint64 {
	m.pause()
	m.learn(m.words[i])
	return m.words[i]
}

func (m *memory) Store(i int, v uint64) {
	m.pause()
	m.words[i] = v
}

func (m *memory) pause() {
	if m.now != nil {
		m.now.pause()
	}
}

// learn takes note that the thread that runs knows a value from now on.
func (m *memory) learn(v uint64) {
	if m.now != nil {
		m.now.known = append(m.now.known, v)
	}
}

// thread is a function that stops before each of its steps.
type thread struct {
	next  func() (struct{}, bool)
	pause func()
	steps int
	known []uint64 // all that it got to know
	over  bool
}

// abandoned ends a thread whose schedule is not played to its end.
type abandoned struct{}

func start(body func()) (*thread, func()) {
	t := new(thread)
	next, stop := iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if r := recover(); r != nil && r != (abandoned{}) {
				panic(r)
			}
		}()
		t.pause = func() {
			if !yield(struct{}{}) {
				panic(abandoned{})
			}
		}
		t.pause() // before its first step
		body()
	})
	t.next = next
	_, _ = t.next()
	return t, stop
}

// search visits all states that the schedules of a scenario lead to. Two schedules that lead to the same memory and the same
// knowledge of each thread have the same future, which is played once.
type search struct {
	seed  maphash.Seed
	seen  map[uint64]bool
	taken []int // the choices of the schedule that is played
	width []int // how many there were
}

// key identifies a state.
func (s *search) key(m *memory, threads []*thread) uint64 {
	var h maphash.Hash
	h.SetSeed(s.seed)
	put := func(v uint64) {
		var b [8]byte
		binary.NativeEndian.PutUint64(b[:], v)
		_, _ = h.Write(b[:])
	}
	for _, w := range m.words {
		put(w)
	}
	for _, t := range threads {
		put(uint64(t.steps))
		put(uint64(len(t.known)))
		for _, v := range t.known {
			put(v)
		}
	}
	return h.Sum64()
}

// run plays one schedule: choices says which of the threads that are not over takes each step; beyond its end the first does. It
// returns false if it came to a state that was visited before.
func (s *search) run(m *memory, choices []int, bodies []func()) bool {
	threads := make([]*thread, len(bodies))
	for i, body := range bodies {
		t, stop := start(body)
		threads[i] = t
		defer stop()
	}
	s.taken, s.width = s.taken[:0], s.width[:0]
	defer func() { m.now = nil }()
	for {
		alive := slices.DeleteFunc(slices.Clone(threads), func(t *thread) bool { return t.over })
		if len(alive) == 0 {
			return true
		}
		pick := 0
		if n := len(s.taken); n < len(choices) {
			pick = choices[n]
		} else if k := s.key(m, threads); s.seen[k] {
			return false
		} else {
			s.seen[k] = true
		}
		s.width, s.taken = append(s.width, len(alive)), append(s.taken, pick)
		m.now = alive[pick]
		m.now.steps++
		_, more := m.now.next()
		m.now.over = !more
	}
}

// scenario makes the threads of one run anew, and what must hold when all are over.
type scenario func(m *memory) (bodies []func(), check func() error)

// every plays all schedules of a scenario, and returns how many states they lead to.
func every(t *testing.T, play scenario) int {
	t.Helper()
	s := &search{seed: maphash.MakeSeed(), seen: make(map[uint64]bool)}
	var choices []int
	for {
		m := &memory{words: make([]uint64, Size(2, 2))}
		bodies, check := play(m)
		if s.run(m, choices, bodies) {
			if err := check(); err != nil {
				t.Fatalf("schedule %s: %v", strings.Trim(strings.ReplaceAll(fmt.Sprint(s.taken), " ", ""), "[]"), err)
			}
		}
		i := len(s.taken) - 1
		for i >= 0 && s.taken[i] == s.width[i]-1 {
			i--
		}
		if i < 0 {
			return len(s.seen)
		}
		choices = append(slices.Clone(s.taken[:i]), s.taken[i]+1)
	}
}

func TestAllSchedulesAreVisited(t *testing.T) {
	seen := make(map[string]bool)
	every(t, func(m *memory) ([]func(), func() error) {
		var order string
		say := func(what rune) func() {
			return func() {
				for range 3 {
					m.pause()
					order += string(what)
					for _, c := range order {
						m.learn(uint64(c))
					}
				}
			}
		}
		return []func(){say('a'), say('b')}, func() error { seen[order] = true; return nil }
	})
	if len(seen) != 20 {
		t.Errorf("%d orders of 3 and 3 steps were played, want 20", len(seen))
	}
}
