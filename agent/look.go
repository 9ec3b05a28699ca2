package agent

// Groups returns what is known about all groups, by name.
func (a *Agent) Groups() []GroupInfo {
	found, _ := a.board.list("", "", 0)
	out := make([]GroupInfo, len(found))
	for i, c := range found {
		out[i] = a.info(c)
	}
	return out
}

// Changes returns what changed lately in all groups, oldest first, as far as it is kept.
func (a *Agent) Changes() []Change {
	found := a.board.history("", keepChanges)
	out := make([]Change, len(found))
	for i, c := range found {
		out[i] = *c
	}
	return out
}
