package why

// Ending says in a clause why a leadership of a member ended, such as "host1 fell silent", or, if leader is empty, why there was no leader. It
// claims no more than a member can know: one that is not heard may have died, may be paused, or may be cut off.
func (c Cause) Ending(leader string) string {
	m := c.Member
	if m == "" {
		m = leader
	}
	if m == "" {
		m = "a member"
	}
	if leader == "" {
		leader = "the leader"
	}
	switch c.Why {
	case Suspected:
		return m + " fell silent"
	case Died:
		return "the process of " + m + " died"
	case LeaseExpired:
		return m + " did not renew its lease"
	case Resigned:
		return m + " gave the group up"
	case Transferred:
		return leader + " handed over"
	case Doubted:
		if m == leader {
			return m + " learned of a later election"
		}
		return m + " did not hear " + leader
	case Elected:
		return leader + " stopped leading, unseen from here"
	case Drained:
		return m + " was drained"
	case Balanced:
		return "the group moved to its place, " + m
	case Returned, Merged:
		return m + ", which goes first, came back"
	case Restarted:
		return m + " restarted"
	case Closed:
		return "the agent of " + m + " stopped"
	case Unhealthy:
		return m + " was unhealthy"
	case ClockFault:
		return "the clock of " + m + " is out of bounds"
	}
	return c.endingOfLinks(m)
}

// endingOfLinks is of causes that lie in the network between members.
func (c Cause) endingOfLinks(m string) string {
	switch c.Why {
	case SlowLink:
		return "packets of " + m + " took too long"
	case NoQuorum:
		return "too few members answered"
	case NoAccess:
		return "no member has good links with all others"
	case AllAgree:
		return "all members agreed"
	case Excluded:
		return "the others removed this member"
	case Stalled:
		return "the link to " + m + " broke"
	}
	return "no cause is known"
}
