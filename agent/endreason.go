package agent

import (
	"fmt"

	"github.com/regentproject/regent/why"
)

// How a leadership of a program here ended is more than the cause that other members are told: that is one word, and to
// give a group up looks the same to them whether the program stopped, died, or had to be killed. The agent knows, and its
// history says so.

// freeze remembers why the program is told of no later end; the first reason stays.
func (s *leadState) freeze(reason string) {
	if s.freezeReason == "" {
		s.freezeReason = reason
	}
	s.c.freeze()
}

// setReason remembers what the program is to stop for; the first reason stays.
func (s *leadState) setReason(reason string) {
	if s.reason == "" {
		s.reason = reason
	}
}

// orderReason says what an operator wanted.
func orderReason(o *order) string {
	if o.to != "" {
		return "it was to be handed over to " + o.to + ", as by 'regent transfer'"
	}
	return "it was to be given up, as by 'regent resign'"
}

// leaseReason says why the member has asked for an end.
func (s *leadState) leaseReason() string {
	if cause := s.lease.Cause(); cause.Why != why.Closed {
		return fmt.Sprintf("the program was told to stop (%v)", cause)
	}
	return "the agent was stopped"
}

// expiryReason says why the end that the program was told has passed.
func (s *leadState) expiryReason() string {
	switch {
	case s.freezeReason != "":
		return s.freezeReason + ", and the end that it had been told passed"
	case s.lease.Valid():
		return "the program did not read what it was told, as one that is paused, and the end that it had been told passed"
	}
	return "the lease was not renewed in time"
}

// recordEnd writes down how the leadership ends, before anybody can see that it does. It is logged later: a log may be slow.
func (s *leadState) recordEnd(how string) {
	if s.reason != "" {
		how = s.reason + ": " + how
	}
	s.how = how
	s.c.agent.changes.recordEnd(s.c.group, s.lease.Token(), how)
}

// clearEnd takes back what was written down: the program still leads.
func (s *leadState) clearEnd() {
	s.how = ""
	s.c.agent.changes.recordEnd(s.c.group, s.lease.Token(), "")
}

// deathReason says how it is known that the program cannot act any more.
func (c *candidate) deathReason() string {
	if c.goodbye.Load() {
		return "the program said goodbye"
	}
	return "the program died"
}

// killedSuffix is what is said of the processes of a runner that cannot have ended them itself.
func (c *candidate) killedSuffix() string {
	if c.killer == nil {
		return ""
	}
	return "; the agent has killed what was left of what it had started"
}
