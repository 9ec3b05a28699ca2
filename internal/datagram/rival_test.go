package datagram

import (
	"testing"
	"time"
)

// A pair of processes of member 0, of which the older one is still there, and member 1 that hears both.
func rivals(t *testing.T, met bool) (*cluster, *Endpoint) {
	w := newTown(t, 5, 1)
	if met {
		w.meet(0, 1)
		w.meet(0, 1)
	} else {
		w.send(1, 0, ms) // it knows the other's name, but nothing is known of it
	}
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

func TestLateDatagramsOfADeadProcessRaiseNoAlarm(t *testing.T) {
	w := newTown(t, 5, 1)
	w.meet(0, 1)
	var late []Header
	for range 20 {
		w.pass(10 * ms)
		late = append(late, w.stamp(0, 1))
	}
	w.pass(ms)
	w.start(0, 6) // the process is dead before its successor starts
	w.meet(0, 1)
	for _, h := range late {
		w.pass(time.Second)
		w.want(w.accept(1, h), Stale)
		if w.e[1].Report(w.clock(1), 0).Rivals {
			break
		}
		w.want(w.send(0, 1, ms), Accepted)
		if w.real > time.Hour+rivalGrace {
			return // beyond the grace late datagrams may be taken for signs of life
		}
	}
	t.Fatal("late datagrams of a dead process were taken for a live one's")
}

func TestProcessThatProvablyLivesOnIsAnAlarmAtOnce(t *testing.T) {
	w, old := rivals(t, true)
	w.pass(20 * ms)
	w.want(w.sendOld(old, ms), Stale)
	if !w.e[1].Report(w.clock(1), 0).Rivals {
		t.Fatal("no alarm, though the older process spoke after the newer one")
	}
	w.want(w.send(0, 1, ms), Rivals)
	w.pass(rivalHold)
	w.want(w.send(0, 1, ms), Accepted)
}

func TestProcessesThatTakeTurnsAreAnAlarm(t *testing.T) {
	w, old := rivals(t, false)
	w.pass(rivalGrace)
	for i := range rivalTurns {
		if w.e[1].Report(w.clock(1), 0).Rivals {
			t.Fatalf("alarm after %d turns", i)
		}
		w.want(w.send(0, 1, ms), Accepted)
		w.want(w.sendOld(old, ms), Stale)
		w.pass(100 * ms)
	}
	w.want(w.send(0, 1, ms), Rivals)
	for range 10 { // as long as both speak, neither counts
		w.pass(rivalHold - time.Second)
		w.want(w.sendOld(old, ms), Stale)
		w.want(w.send(0, 1, ms), Rivals)
	}
	w.pass(rivalHold)
	w.want(w.send(0, 1, ms), Accepted)
}

// What somebody recorded before we started names another incarnation of us, and proves nothing.
func TestReplaysOfEarlierDaysRaiseNoAlarm(t *testing.T) {
	w, old := rivals(t, true)
	var recorded []Header
	for range 10 {
		w.pass(10 * ms)
		recorded = append(recorded, old.Stamp(w.clock(0), w.clock(0), 1))
	}
	w.start(1, 2)
	w.meet(0, 1)
	w.pass(2 * rivalGrace)
	for _, h := range recorded {
		w.want(w.accept(1, h), Stale)
		w.want(w.send(0, 1, ms), Accepted)
	}
}

func TestReplayedOldDatagramIsNoSignOfLife(t *testing.T) {
	w, old := rivals(t, false)
	h := old.Stamp(w.clock(0), w.clock(0), 1)
	w.pass(2 * rivalGrace)
	for range 3 * rivalTurns {
		w.pass(100 * ms)
		w.want(w.accept(1, h), Stale)
		w.want(w.send(0, 1, ms), Accepted)
	}
}

func TestTwinsAreAnAlarm(t *testing.T) {
	w := newTown(t, 1, 1)
	w.meet(0, 1)
	w.pass(100 * ms)
	first := w.e[0]
	w.start(0, 1) // from a copy of the disk
	w.want(w.send(0, 1, ms), Twin)
	w.e[0] = first
	w.want(w.send(0, 1, ms), Rivals)
	if due := w.e[1].Probes(w.clock(1)); len(due) != 1 {
		t.Fatal("nothing is due to the twins")
	}
	if v := w.send(1, 0, ms); v.Outdated != 2 {
		t.Fatalf("a twin hears %+v, want that its incarnation is spoilt", v)
	}
	w.start(0, 2) // it took another one
	w.pass(rivalHold)
	w.send(0, 1, ms)
	w.want(w.send(1, 0, ms), Accepted)
	w.want(w.send(0, 1, ms), Accepted)
}

func TestAlarmSurvivesARestartOfTheRivals(t *testing.T) {
	w, old := rivals(t, true)
	w.pass(20 * ms)
	w.sendOld(old, ms)
	w.start(0, 7)
	if v := w.send(0, 1, ms); v.Reason != Rivals || !v.Restarted {
		t.Fatalf("%+v", v)
	}
}
