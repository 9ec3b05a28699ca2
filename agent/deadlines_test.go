package agent

// lapse freezes a deadline that has passed: the program was shown nothing later than a moment ago.
func (r *deadline) lapse() {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	if r.behind != nil {
		r.behind.unwatch(r)
		r.behind = nil
	}
	if r.slot != nil {
		for _, l := range r.all.leases {
			if l.reader == r {
				l.reader = nil
			}
		}
		r.slot.Close()
		r.slot = nil
		r.all.messages.Add(1)
	}
	r.frozen, r.told = true, r.all.now()-1
}
