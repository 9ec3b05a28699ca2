package enginetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A reign is one leadership of one contender, in instants of the host's lease clock.
type reign struct {
	contender, group string
	token            uint64
	// from is when it was told, and until the end that it knew last, or when it released.
	from, until time.Duration
	released    bool
	over        bool
}

// A journal is what all contenders have written.
type journal struct {
	mu     sync.Mutex
	reigns []*reign
	ready  map[string]bool
	ended  map[string]int
	bad    []string
}

func newJournal() *journal {
	return &journal{ready: make(map[string]bool), ended: make(map[string]int)}
}

// take takes a line of a contender.
func (j *journal) take(contender, line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f := strings.Fields(line)
	number := func(i int) time.Duration {
		if i >= len(f) {
			j.bad = append(j.bad, contender+": "+line)
			return 0
		}
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			j.bad = append(j.bad, contender+": "+line)
		}
		return time.Duration(n)
	}
	if len(f) < 2 {
		j.bad = append(j.bad, contender+": "+line)
		return
	}
	switch f[0] {
	case "ready":
		j.ready[contender] = true
	case "ended":
		j.ended[contender+" "+f[2]]++
	case "won":
		j.reigns = append(j.reigns, &reign{contender: contender, group: f[2], token: uint64(number(3)), from: number(1), until: number(4)})
	case "moved", "released", "lost":
		r := j.find(contender, f[2], uint64(number(3)))
		switch {
		case r == nil:
			j.bad = append(j.bad, contender+": "+line)
		case f[0] == "moved" && !r.released:
			r.until = max(r.until, number(4))
		case f[0] == "released":
			r.released, r.until = true, number(1)
		case f[0] == "lost": // it acts no more, although its lease may not have ended
			r.over, r.until = true, min(r.until, number(1))
		}
	}
}

func (j *journal) find(contender, group string, token uint64) *reign {
	for _, r := range slices.Backward(j.reigns) {
		if r.contender == contender && r.group == group && r.token == token {
			return r
		}
	}
	return nil
}

// leader returns who leads a group: the last that was told, if it is not over.
func (j *journal) leader(group string) (contender string, token uint64, from time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range slices.Backward(j.reigns) {
		if r.group == group {
			if r.over || r.released {
				return "", r.token, r.from
			}
			return r.contender, r.token, r.from
		}
	}
	return "", 0, 0
}

// problems lists what must not be: two that lead at once, tokens that do not grow, lines that nobody understands.
func (j *journal) problems() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	found := slices.Clone(j.bad)
	byGroup := make(map[string][]*reign)
	for _, r := range j.reigns {
		byGroup[r.group] = append(byGroup[r.group], r)
	}
	for group, all := range byGroup {
		slices.SortFunc(all, func(x, y *reign) int { return int(x.from - y.from) })
		for i := 1; i < len(all); i++ {
			for _, before := range all[:i] {
				if d := before.until - all[i].from; d > 0 {
					found = append(found, fmt.Sprintf("OneLeads: group %s: %s led with token %d for another %v when %s began with token %d", group, before.contender, before.token, d, all[i].contender, all[i].token))
				}
			}
			if all[i].token <= all[i-1].token {
				found = append(found, fmt.Sprintf("TokensGrow: group %s: token %d of %s came after %d of %s", group, all[i].token, all[i].contender, all[i-1].token, all[i-1].contender))
			}
		}
	}
	slices.Sort(found)
	return found
}

// count returns how many leaderships there were.
func (j *journal) count() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.reigns)
}
