package core

// longestHardware is how long the name of a hardware address is.
const longestHardware = len("00:00:00:00:00:00")

// SetDuplicates takes note of other hosts that have addresses of the candidate's tree as well. A runner reports all again when one changes.
func (c *Candidate) SetDuplicates(all map[string]string) {
	kept := make(map[string]string)
	for _, a := range c.addresses() {
		if host := all[a]; host != "" && len(host) <= longestHardware {
			kept[a] = host
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.duplicates = kept
}

// addresses returns those that its tree holds while it leads.
func (c *Candidate) addresses() []string {
	if c.Tree == nil {
		return nil
	}
	return c.Tree.Ref().Addresses
}
