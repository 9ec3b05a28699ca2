package suite

import (
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
)

// The rows that runs of consistent groups are counted for besides those of every protocol.
const (
	MemberLost       = "members agreed on who was lost"
	TwoLost          = "two lost in one agreement"
	MemberTaken      = "member taken in"
	ManagerRejoined  = "smaller member taken in under another manager"
	Suspicion        = "suspicion taken back"
	ManagerDied      = "manager died before its recovery was done"
	ViewAnnounced    = "view of a dead manager announced again"
	ViewHeard        = "view heard from another than its manager"
	BeganAnew        = "all died and began anew"
	LinkStalled      = "broken link reported"
	MemberEvicted    = "member left because of a broken link"
	MemberExcluded   = "member learned that it was taken for dead"
	LeaveOver        = "leave to go on ran out"
	LeaseReturned    = "lease given up by who confirmed another"
	TwoManagers      = "two managers in two parts"
	ManagerRecovered = "recovery done"
	MemberIll        = "member left because it was not well"
	RolesAgreed      = "agreement in a council with witnesses or observers"
)

var (
	rainPlainRows = append(append([]string{}, Rows[:len(Rows)-2]...), LeaderChanged, MemberLost, TwoLost, MemberTaken, ManagerRejoined, Suspicion,
		ManagerDied, ViewHeard, BeganAnew, LinkStalled, MemberEvicted, MemberExcluded, TwoManagers, ManagerRecovered, MemberIll)
	rainGatedRows = append(append([]string{}, Rows[:len(Rows)-2]...), LeaderChanged, MemberLost, TwoLost, MemberTaken, ManagerRejoined, Suspicion,
		ManagerDied, ViewAnnounced, ViewHeard, BeganAnew, LinkStalled, MemberEvicted, LeaveOver, LeaseReturned,
		ManagerRecovered, MemberIll, RolesAgreed)
)

// rainWatch counts the rows of consistent groups.
type rainWatch struct {
	hit      func(string)
	manages  []bool // by its own view
	accepted []bool
	leaders  protocol.Set
}

func watchRain(t check.Truth, hit func(string)) sim.Observer {
	_, leaders := rolesIn(t)
	return &rainWatch{hit: hit, manages: make([]bool, t.Members()), accepted: make([]bool, t.Members()), leaders: leaders}
}

// Observe looks for the rows in facts and views.
func (w *rainWatch) Observe(r *sim.Record) error {
	switch r.Ev {
	case protocol.EvInstall:
		w.install(r)
	case protocol.EvCancel:
		w.hit(Suspicion)
	case protocol.EvStall:
		w.hit(LinkStalled)
	case protocol.EvDone:
		w.hit(ManagerRecovered)
	case protocol.EvAccept:
		w.accepted[r.Node] = true
	case protocol.EvStepdown:
		w.when(w.accepted[r.Node] && r.Why == "resigned", LeaseReturned)
	case sim.EvCrash, sim.EvClose:
		w.manages[r.Node], w.accepted[r.Node] = false, false
	case sim.EvView:
		if v, ok := r.Detail.(*protocol.View); ok && v.Domain == protocol.Consistent {
			w.view(r, v)
		}
	}
	return nil
}

func (w *rainWatch) install(r *sim.Record) {
	w.accepted[r.Node] = false
	v, ok := r.Detail.(rain.View)
	if !ok {
		return
	}
	w.when(r.Why == "announced", ViewAnnounced)
	w.when(r.Why == "heard", ViewHeard)
	if r.Why != "decided" {
		return
	}
	anew := v.Members == v.Joined
	w.when(anew && v.Number.Vid > 1, BeganAnew)
	w.when(!anew && w.leaders.Len() < len(w.manages), RolesAgreed)
	w.when(!anew && !v.Failed.Empty(), MemberLost)
	w.when(!anew && v.Failed.Len() > 1, TwoLost)
	w.when(!anew && !v.Joined.Empty(), MemberTaken)
	w.when(!anew && v.Joined.Min() < v.Manager, ManagerRejoined)
	w.when(len(v.Unfinished) > 0, ManagerDied)
}

func (w *rainWatch) view(r *sim.Record, v *protocol.View) {
	w.manages[r.Node] = v.Agreed != nil && v.Leader.Rank == r.Node
	if w.manages[r.Node] {
		for q := range w.manages {
			w.when(w.manages[q] && protocol.Rank(q) != r.Node, TwoManagers)
		}
	}
	if v.Agreed == nil {
		w.when(v.Cause.Code == protocol.Stalled, MemberEvicted)
		w.when(v.Cause.Code == protocol.Excluded, MemberExcluded)
		w.when(v.Cause.Code == protocol.Unhealthy, MemberIll)
		w.when(v.Cause.Code == protocol.NoQuorum && v.Cause.Bound > 0, LeaveOver)
	}
}

func (w *rainWatch) when(yes bool, row string) {
	if yes {
		w.hit(row)
	}
}
