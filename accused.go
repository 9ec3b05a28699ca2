package regent

import (
	"fmt"
	"sync"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

// accusations counts what peers have said of later lives of this member that the member does not act on, by reason.
type accusations struct {
	mu    sync.Mutex
	count map[string]uint64
	at    map[string]protocol.Time // of the last one
	last  string
	until protocol.Time
}

// accusedFor is how long an accusation stays in the status, and for how long others for the same reason are not logged again.
const accusedFor = 10 * time.Minute

// note counts an accusation, and says whether to log it.
func (a *accusations) note(now protocol.Time, why, text string) (log bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count == nil {
		a.count, a.at = make(map[string]uint64), make(map[string]protocol.Time)
	}
	at, before := a.at[why]
	a.count[why]++
	a.at[why], a.last, a.until = now, text, now.Add(accusedFor)
	return !before || now.Sub(at) >= accusedFor
}

// current returns the last accusation; empty if it is long past.
func (a *accusations) current(now protocol.Time) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == "" || now >= a.until {
		return ""
	}
	return a.last
}

// counts returns how many accusations there were for a reason.
func (a *accusations) counts(why string) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count[why]
}

// noteAccused takes note of an accusation.
func (m *Member) noteAccused(now protocol.Time, f *protocol.Fact) {
	peer := m.council().name(f.Peer.Rank)
	text := fmt.Sprintf("%s has heard incarnation %d of this member (%s)", peer, f.Seq, f.Why)
	if m.accused.note(now, f.Why, text) {
		m.log.Error("a peer has heard a later incarnation of this member", "peer", peer, "heard", f.Seq, "reason", f.Why)
	}
}
