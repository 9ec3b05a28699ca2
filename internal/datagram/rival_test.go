package datagram

import (
	"testing"
	"time"
)

// rivals returns two processes of member 0, of which the older one is still there, and member 1 that hears both.
func rivals(t *testing.T) (*cluster, *Endpoint) {
	w := newTown(t, 5, 1)
	w.meet(0, 1)
	w.meet(0, 1)
	old := w.e[0]
	w.pass(10 * ms)
	w.start(0, 6)
	w.meet(0, 1)
	return w, old
}

func (w *cluster) sendOld(old *Endpoint, d time.Duration) Verdict {
	h := old.Stamp(w.clock(0), w.clock(0), 1)
	w.pass(d)
	return w.accept(1, h)
}

// hear lets both processes of member 0 hear what member 1 sends to it, after the best echo of before is forgotten.
func (w *cluster) hear(old *Endpoint) {
	w.pass(w.e[1].config.MaxAge)
	h := w.stamp(1, 0)
	w.pass(ms)
	w.want(old.Accept(w.clock(0), &h), OtherIncarnation)
	w.accept(0, h)
}

// However late they are, and however often they come in turn with those of the living process.
func TestLateDatagramsOfADeadProcessRaiseNoAlarm(t *testing.T) {
	w := newTown(t, 5, 1)
	w.meet(0, 1)
	var late []Header
	for range 20 {
		w.pass(10 * ms)
		w.send(1, 0, ms)
		late = append(late, w.stamp(0, 1))
	}
	w.pass(ms)
	w.start(0, 6) // the process is dead before its successor starts
	w.meet(0, 1)
	for range 2 {
		for _, h := range late {
			w.pass(time.Second)
			w.want(w.accept(1, h), Stale)
			w.want(w.send(0, 1, ms), Accepted)
		}
	}
	if w.e[1].Report(w.clock(1), 0).Rivals {
		t.Error("late datagrams of a dead process were taken for a live one's")
	}
}

func TestProcessThatProvablyLivesOnIsAnAlarm(t *testing.T) {
	w, old := rivals(t)
	w.want(w.sendOld(old, ms), Stale)
	if w.e[1].Report(w.clock(1), 0).Rivals {
		t.Fatal("alarm, though the older process has echoed nothing that was sent after the newer one was heard")
	}
	w.hear(old)
	w.want(w.sendOld(old, ms), Stale)
	if !w.e[1].Report(w.clock(1), 0).Rivals {
		t.Fatal("no alarm, though the older process heard us after the newer one spoke")
	}
	w.want(w.send(0, 1, ms), Rivals)
	w.pass(rivalHold)
	w.want(w.send(0, 1, ms), Accepted)
}

// What was recorded before we started names another incarnation of us, and proves nothing.
func TestReplaysOfEarlierDaysRaiseNoAlarm(t *testing.T) {
	w, old := rivals(t)
	var recorded []Header
	for range 10 {
		w.hear(old)
		recorded = append(recorded, old.Stamp(w.clock(0), w.clock(0), 1))
	}
	w.start(1, 2)
	w.meet(0, 1)
	for _, h := range recorded {
		w.want(w.accept(1, h), Stale)
		w.want(w.send(0, 1, ms), Accepted)
	}
}

// A second start under one incarnation does not count, and takes nothing from the first.
func TestTwinIsDroppedAndAnswered(t *testing.T) {
	w := newTown(t, 1, 1)
	w.meet(0, 1)
	w.pass(100 * ms)
	first := w.e[0]
	w.start(0, 1) // from a copy of the disk
	w.want(w.send(0, 1, ms), Twin)
	if due := w.e[1].Probes(w.clock(1)); len(due) != 1 {
		t.Fatal("nothing is due to the twin")
	}
	w.want(w.send(1, 0, ms), OtherIncarnation)
	w.e[0] = first
	w.want(w.send(0, 1, ms), Accepted)
	w.want(w.send(1, 0, ms), Accepted)
}

func TestAlarmSurvivesARestartOfTheRivals(t *testing.T) {
	w, old := rivals(t)
	w.hear(old)
	w.sendOld(old, ms)
	w.start(0, 7)
	if v := w.send(0, 1, ms); v.Reason != Rivals || !v.Restarted {
		t.Fatalf("%+v", v)
	}
}
