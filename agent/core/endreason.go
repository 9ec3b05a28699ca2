package core

import (
	"fmt"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/why"
)

// How a leadership of a program here ended is more than the cause that other members learn: that is one word, and to
// give a group up looks the same to them whether the program stopped, died, or had to be killed. The agent knows, and its
// history has it.

// endReasons is what is known about how a leadership ends. Of each kind the first counts.
type endReasons struct {
	// asked is what the program is to stop for, frozen why it learns of no later end, stopped how it is known that it has stopped;
	// empty: nothing yet.
	asked, frozen, stopped string
	// killed says that the agent has killed, proven that nothing is left, and reported that the program's side has said so.
	killed, proven, reported bool
	// left is what the agent could not prove gone, as it was found last.
	left string
	// cause is the one that counts, for people; empty if it says no more than the rest.
	cause string
	// how is the text as it was recorded.
	how      string
	recorded bool
}

func (e *endReasons) ask(text string)    { first(&e.asked, text) }
func (e *endReasons) freeze(text string) { first(&e.frozen, text) }
func (e *endReasons) stop(text string)   { first(&e.stopped, text) }

// report takes note that the program's side has said that nothing is left.
func (e *endReasons) report(text string) {
	e.stop(text)
	e.reported = true
}

// notRead is how it is with a program whose lease was renewed and that did not learn of it.
const notRead = "the program did not read what the agent sent, as one that is paused"

func first(at *string, text string) {
	if *at == "" {
		*at = text
	}
}

// orderReason says what an operator wanted.
func orderReason(o *Order) string {
	if o.to != "" {
		return "it was to be handed over to " + o.to + ", as by 'regent transfer'"
	}
	return "it was to be given up, as by 'regent resign'"
}

// leaseReason says why the member has asked for an end.
func leaseReason(cause regent.Cause) string {
	if cause.Why != why.Closed {
		return fmt.Sprintf("the program was asked to stop (%v)", cause)
	}
	return "the agent was stopped"
}

// text says how the leadership ended.
func (e *endReasons) text(l leadership) string {
	how := e.stopped
	switch {
	case how != "" && e.cause != "" && e.asked == "":
		how += " (" + e.cause + ")"
	case how != "":
	case e.frozen != "":
		how = e.frozen + ", and its announced deadline passed"
	case l.Valid():
		how = notRead + ", and its announced deadline passed"
	default:
		how = "the lease was not renewed in time"
	}
	switch {
	case e.reported:
	case e.killed && e.proven:
		how += "; the agent has killed what was left of what it had started"
	case e.killed && e.left != "":
		how += "; something of what it had started may be left, so the lease ran out (" + e.left + ")"
	case e.killed:
		how += "; something of what it had started may be left, so the lease ran out"
	}
	if e.asked != "" {
		how = e.asked + ": " + how
	}
	return how
}

// recordEnd writes down how the leadership ends, before anybody can see that it does, and again when the cause is corrected. It is
// logged later: a log may be slow.
func (c *Candidate) recordEnd(released bool) {
	cause := c.agent.CauseOf(c.life.Cause())
	c.mu.Lock()
	defer c.mu.Unlock()
	text := ""
	if cause.Why != why.Resigned && cause.Why != why.Transferred && cause.Why != why.Unexplained {
		text = cause.String()
	}
	if c.end.recorded && text == c.end.cause {
		return
	}
	c.end.proven = c.end.recorded && c.end.proven || !c.end.recorded && released
	c.end.recorded, c.end.cause = true, text
	c.end.how = c.end.text(c.lease)
	if _, began := c.life.Announced(); !began {
		c.end.how = "the program withdrew at the moment at which it was elected"
	}
	if token := c.noted(c.lease); token != 0 { // of a turn nobody else learns
		c.agent.ChangeLog.recordEnd(c.Group, token, c.end.how)
	}
}

// clearEnd takes back what was written down: the program still leads.
func (c *Candidate) clearEnd() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end = endReasons{}
	c.agent.ChangeLog.recordEnd(c.Group, c.noted(c.lease), "")
}
