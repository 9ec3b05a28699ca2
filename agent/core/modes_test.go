package core

import (
	"context"
	"sync"
	"testing"

	"github.com/regentproject/regent"
)

// obedience is of a program that stops as soon as it is asked to.
type obedience struct{ silence }

func (v *obedience) Stop(c *Candidate, _ regent.Cause) { go c.Goodbye() }

// A program that waits for a turn does not keep its agent from leaving.
func TestLeavingEndsThoseThatWaitInGroupsThatHostsLead(t *testing.T) {
	a := Joined(t, "groups: [{name: cache, mode: local}, {name: ops, mode: eventual}]\n")
	ctx, leave := context.WithCancel(t.Context())
	var tasks sync.WaitGroup
	a.openGroups(ctx, &tasks)
	var waiting []*Candidate
	for group, mode := range map[string]regent.Mode{"cache": regent.Local, "ops": regent.Eventual} {
		for i := range 2 {
			v := &obedience{silence{led: make(chan struct{})}}
			c, err := a.AddCandidate(Candidacy{Group: group, Mode: mode, Notifier: v})
			if err != nil {
				t.Fatal(err)
			}
			go c.Run()
			if i == 0 {
				v.await(t, "the program", c)
			} else {
				waiting = append(waiting, c)
			}
		}
	}
	leave()
	if err := a.Leave(func(context.Context) {}); err != nil {
		t.Error(err)
	}
	tasks.Wait()
	for _, c := range waiting {
		select {
		case <-c.Ended:
		default:
			t.Errorf("the program still waits to lead %s", c.Group)
		}
	}
}
