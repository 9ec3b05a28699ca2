package core

import (
	"errors"
	"sync"

	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/tenure"
)

// Learn takes note of the first process, by a pidfd: its process group and session are found after the death of the runner, too. A tenure
// has one first process. So a runner has its tree saved once, however often it reports one.
func (c *Candidate) Learn(first int) (err error) {
	if c.Tree == nil {
		return errors.New("started: the candidacy is of no runner")
	}
	c.Tree.Change(func(r *tree.Ref) {
		if r.First.Pid != 0 {
			err = errors.New("started: the first process is known already")
			return
		}
		err = r.Learn(first)
	})
	if err == nil {
		c.work.put(func() {
			if c.life.State() != tenure.Over { // whose note is removed
				c.Tree.Save(c.Group, c.longestLease())
			}
		})
	}
	return err
}

// runners finds the last candidate of each runner. A runner that was cut off comes back on another connection.
type runners struct {
	mu   sync.Mutex
	last map[tenure.Identity]*Candidate
}

// add has a candidate of a runner wait for the one before it.
func (r *runners) add(c *Candidate) {
	if c.Tree == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	runner := c.Tree.Ref().Runner
	c.after = r.last[runner]
	r.last[runner] = c
}

// remove forgets a candidate under which nothing is left.
func (r *runners) remove(c *Candidate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if runner := c.Tree.Ref().Runner; r.last[runner] == c {
		delete(r.last, runner)
	}
}

// Priority returns that of the member, for hooks in the manner of keepalived.
func (a *Agent) Priority() int {
	return max(lowestPriority, a.Config().Self().Priority)
}

// lowestPriority is the lowest that keepalived knows of.
const lowestPriority = 1
