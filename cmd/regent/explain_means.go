package main

import (
	"fmt"

	"github.com/regentproject/regent/why"
)

// explain says what the cause means, and what to look at if it was not intended. It claims no more than the agent that was
// asked can know.
func (a *explanation) explain() {
	switch {
	case a.Seen:
		a.Means, a.Do = "this member saw no leader before, and does not know since when it leads", ""
	case a.first():
		a.Means, a.Do = "no member had led before, as far as this member knows", ""
	case a.Ended != "" && a.Cause.Why == why.Resigned: // which is all that others know
		a.Means, a.Do = a.Ended, ""
	default:
		a.Means, a.Do = a.meaning()
	}
}

// meaning is what a cause means to a member that knows no more than that.
func (a *explanation) meaning() (means, do string) {
	m := a.Cause.Member
	if m == "" {
		m = "a member"
	}
	switch a.Cause.Why {
	case why.Started:
		return "this member knows of no leader since it was started", "whether a program campaigns anywhere: regent who, on the other hosts"
	case why.Elected:
		return m + " was elected, and the end of the leadership before was not seen from here", "the history at the member that led before"
	case why.Suspected:
		return m + " was not heard for too long", "whether " + m + " runs, and whether UDP between it and the others passes: regent members"
	case why.Died:
		return "the process of " + m + " died: its guardian has reported it", "the log of " + m + ", and that of its host, at that time"
	case why.LeaseExpired:
		return "the lease of " + m + " was not renewed in time: it died, was paused, or was cut off from a majority",
			"the log of " + m + " at that time; pauses and slow paths: regent status there"
	case why.Resigned:
		return a.resigned(m)
	case why.Transferred:
		return "the group was handed over to " + m, ""
	case why.SlowLink:
		return fmt.Sprintf("packets of %s may have taken as long as %v, which is too long to build on", m, a.Cause.Bound), "the network between the members: regent status"
	case why.NoQuorum:
		return "too few members answered", "how many members run and hear one another: regent members, on both sides"
	case why.Restarted:
		return m + " was restarted", "why it was: its log"
	case why.ClockFault:
		return "the clock of " + m + " stopped, jumped, or runs at another rate than those of the others", "the clock and the hypervisor of " + m
	case why.Unhealthy:
		return "the program at " + m + " was found not to be well", "its health check, or why it was silent"
	case why.Closed:
		return "the agent of " + m + " was stopped in good order", ""
	case why.Balanced:
		return "the group moved to " + m + ", its place in a balanced council, because " + m + " has started or was undrained", ""
	case why.Drained:
		return "an operator drained " + m + " ('regent drain'): it leads nothing until 'regent undrain " + m + "' there", ""
	case why.Merged, why.Returned:
		return m + ", which goes before others, came back", ""
	case why.Doubted:
		return a.doubted(m)
	case why.NoAccess:
		return "one leader after another was not heard, although members answer: no member may have good links with all others", "the network between the members: regent status"
	}
	return "nothing more is known here", "the history and the log of the member that led"
}

// resigned lists what makes a member give a group up: they all look the same from here.
func (a *explanation) resigned(m string) (means, do string) {
	if !ledByPrograms(a.Mode) {
		return m + " gave it up, as when its agent is stopped", ""
	}
	return m + " gave it up: its program ended or stopped, or was killed because it did not answer or stop in time, or its agent was stopped, " +
		"or an operator ran 'regent resign' or 'regent drain'", "'regent explain' and the log at " + m + ": its agent knows which"
}

// doubted is of a leader that another member could not hear, or that was elected when a later one already was. Why it could
// not is known to nobody.
func (a *explanation) doubted(m string) (means, do string) {
	leader := a.From
	if leader == "" {
		leader = "the leader"
	}
	if m == leader {
		return m + " knew of a later election: another member may not have heard it for too long", "whether UDP between " + m + " and the others passes: regent members"
	}
	return m + " had not heard " + leader + " for too long, or knew of a later election: " + leader + " may have died, been paused, or been cut off",
		"whether " + leader + " runs, and whether UDP between it and the others passes: regent members"
}
