package wire

import "crypto/cipher"

// A session is what is remembered of one start of a peer. The window belongs to the start, not to a key: the peer goes
// on counting when it changes keys, and a packet under the old key is not fresh again under the new.
type session struct {
	start   start
	known   bool
	window  window
	ciphers []sessionCipher
}

type sessionCipher struct {
	id   KeyID
	aead cipher.AEAD
}

// cipher returns the cipher for packets under a key, or nil.
func (s *session) cipher(id KeyID) cipher.AEAD {
	for i := range s.ciphers {
		if s.ciphers[i].id == id {
			return s.ciphers[i].aead
		}
	}
	return nil
}

// session finds the start that a packet claims to come from; nil if it is not one of those remembered.
func (p *peer) session(s *start) *session {
	for _, known := range [...]*session{&p.current, &p.recovering} {
		if known.known && known.start == *s {
			return known
		}
	}
	return nil
}

// admit says whether a start that is not remembered may be: only a higher incarnation replaces the current one, so no
// recorded packet can push it out and make its packets fresh again. Incarnation 0 has a place of its own; there the
// last one heard counts.
func (p *peer) admit(s *start) Reason {
	switch {
	case s.inc == 0 || !p.current.known || s.inc > p.current.start.inc:
		return Accepted
	case s.inc == p.current.start.inc:
		return Twin
	}
	return Stale
}

// remember gives a start its place.
func (p *peer) remember(s *start) *session {
	place := &p.current
	if s.inc == 0 {
		place = &p.recovering
	}
	*place = session{start: *s, known: true}
	return place
}
