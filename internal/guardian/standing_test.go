package guardian

import "testing"

// A virtual machine is copied while its member leads. The copy notices that, and is killed before it has a start of its own: its guardian has the letters of the
// original, which leads on.
func TestGuardianOfACopyDoesNotSpeakForTheOriginal(t *testing.T) {
	w := newMortal(0)
	s := NewStanding(newPage(t, w, 0))
	if got := ModeOf(w); got != WithinProcess {
		t.Fatalf("mode %d at the start", got)
	}
	before := s.Restores() // letters that were made then are still on their way
	s.Restored()
	s.Told(before)
	if got := ModeOf(w); got != Unknown {
		t.Errorf("mode %d with letters of the start before", got)
	}
	s.Told(s.Restores())
	if got := ModeOf(w); got != WithinProcess {
		t.Errorf("mode %d with letters of its own start", got)
	}
}

func TestLostProofIsNotMadeUpForByLetters(t *testing.T) {
	w := newMortal(0)
	s := NewStanding(newPage(t, w, 0))
	s.ProofLost()
	s.Told(s.Restores())
	if got := ModeOf(w); got != Unknown {
		t.Errorf("mode %d", got)
	}
}
