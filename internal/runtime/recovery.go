package runtime

import (
	"sync"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/internal/tenure/recovery"
)

// recoveries drive the machine that decides what the program of a membership is asked to recover, and which of its reports count.
type recoveries struct {
	mu      sync.Mutex
	machine recovery.Machine
	readers uint64 // how many have begun
}

func (r *recoveries) step(ev recovery.Event) recovery.Verdict {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.machine.Step(ev)
}

// agree takes note of an agreement, before programs can see it.
func (r *recoveries) agree(v *protocol.View) {
	r.step(recovery.Event{Kind: recovery.Agree, Number: rain.Number{Token: v.Term, Vid: v.Agreed.Vid}, Recover: v.Agreed.Recover})
}

// A Reader shows the agreements of a membership to its program.
type Reader struct {
	of     *recoveries
	number uint64
}

// NewReader returns a reader, to be closed at its end.
func (l *Lease) NewReader() *Reader {
	r := &l.recoveries
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readers++
	return &Reader{r, r.readers}
}

// Asks says whether the program is asked to recover what was lost, by an agreement that it is about to see.
func (r *Reader) Asks(term, vid uint64) bool {
	return r.of.step(recovery.Event{Kind: recovery.Show, Number: rain.Number{Token: term, Vid: vid}, Reader: r.number}) == recovery.Ask
}

// Close ends the reader.
func (r *Reader) Close() { r.of.step(recovery.Event{Kind: recovery.Close, Reader: r.number}) }

// Recovered takes the program's report that it has recovered what the agreement with that number asks for, and returns whether it counts. A later
// agreement that comes meanwhile does not: the protocol looks at the number once more.
func (l *Lease) Recovered(term, vid uint64) (recovery.Verdict, error) {
	verdict := l.recoveries.step(recovery.Event{Kind: recovery.Report, Number: rain.Number{Token: term, Vid: vid}})
	if verdict != recovery.Counts {
		return verdict, nil
	}
	t := l.group.table
	return verdict, t.loop.Do(func(protocol.Time) {
		if l.group.lease == l {
			t.post(protocol.Recover{Group: l.group.Name, Term: term, Vid: vid})
		}
	})
}
