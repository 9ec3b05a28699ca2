package datagram

// JudgeObituary judges the header of a guardian's report before it is opened: its sender is the member that it says is dead. It counts only
// for the start that was heard last, which its random bits name. Nothing that a report says can make this endpoint do anything: it changes no
// window, no echo and no bound. The delayed packets of the dead start count as ever, for what it has promised to others stands.
//
// The number in it is the highest that the dead process may have sent. If a higher one was heard, a process with the same random bits
// lives elsewhere: a copy of a running virtual machine has died, and not the original.
func (e *Endpoint) JudgeObituary(h *Header) Reason {
	if r := e.Address(h); r != Accepted {
		return r
	}
	p := &e.peers[h.From.Rank]
	switch {
	case h.From.Inc != p.inc || !p.current.known || p.current.start != h.Start:
		return Unheard
	case h.Seq < p.current.window.top:
		return Rivals
	}
	return Obituary
}
