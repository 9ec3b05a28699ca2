package socket

import (
	"errors"
	"sync"

	"github.com/regentproject/regent/agent/core"
	"github.com/regentproject/regent/agent/processes"
	"github.com/regentproject/regent/agent/run/tree"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/session"
)

// A keeping is what a keeper does for one candidacy of its runner: it has the deadlines of that, kills the tree when the last one
// comes, and runs the lost hooks of a runner that died. The agent holds its connection, and with that its process.
type keeping struct {
	conn *conn
	id   uint64
	key  string
	// readsPage says that it reads its deadlines on the page.
	readsPage bool

	mu        sync.Mutex
	candidate *core.Candidate // nil before the runner campaigns
	dead      bool
	written   protocol.Time // the last end that it was sent
}

// keepers finds those that wait for their runners by the secrets that they share.
type keepers struct {
	mu  sync.Mutex
	all map[string]*keeping
}

// WaitingKeepers returns how many keepers wait for their runners.
func (a *Server) WaitingKeepers() int {
	a.keepers.mu.Lock()
	defer a.keepers.mu.Unlock()
	return len(a.keepers.all)
}

// keep takes note of a keeper before its runner campaigns.
func (c *conn) keep(r *session.Request) {
	reads, err := c.readsPage(r)
	if err != nil {
		c.fail(r, err)
		return
	}
	k := &keeping{conn: c, id: r.ID, key: r.Keeper, readsPage: reads}
	if !c.addKeeping(k) {
		c.fail(r, errors.New("keep: the id or the secret is in use, or there are too many"))
		return
	}
	c.send(&session.Event{Event: session.Waiting, ID: r.ID})
}

// addKeeping enters a keeper under its id and its secret, or under neither.
func (c *conn) addKeeping(k *keeping) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := &c.agent.keepers
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.all[k.key] != nil || c.inUse(k.id) || len(c.keeps) >= maxKeeps {
		return false
	}
	all.all[k.key], c.keeps[k.id] = k, k
	return true
}

// maxKeeps is how many candidacies one keeper may look after. It has one, and one more while the last one ends.
const maxKeeps = 8

// findKeeper returns the keeper that a runner names: a child of the runner, of the same user, that announced their secret.
func (a *Server) findKeeper(key string, runner *conn) (core.Keeper, error) {
	if key == "" {
		return nil, nil
	}
	a.keepers.mu.Lock()
	defer a.keepers.mu.Unlock()
	k := a.keepers.all[key]
	if k == nil || k.conn == runner || !keepsFor(k.conn.peer, runner.peer) {
		return nil, errors.New("campaign: no keeper with this secret is here")
	}
	delete(a.keepers.all, key)
	return k, nil
}

// keepsFor says whether a peer may be the keeper of another: its word ends the tenures of that one, and it gets their deadlines.
func keepsFor(keeper, runner *processes.Peer) bool {
	if keeper == nil || runner == nil || keeper.UID != runner.UID {
		return false
	}
	child, err := keeper.Identity()
	if err != nil {
		return false
	}
	parent, err := runner.Identity()
	return err == nil && tree.IsChild(child, parent)
}

// Attach has the keeper look after a candidate.
func (k *keeping) Attach(c *core.Candidate) {
	k.mu.Lock()
	k.candidate = c
	dead := k.dead
	k.mu.Unlock()
	if id, err := k.conn.peer.Identity(); err == nil && c.Tree != nil {
		c.Tree.Change(func(r *tree.Ref) { r.Keeper = id }) // it is no part of the tree
	}
	if dead {
		c.KeeperDied()
	}
}

// Leads sends the first deadline.
func (k *keeping) Leads(c *core.Candidate) {
	k.mu.Lock()
	k.written = c.Announced()
	k.mu.Unlock()
	a := k.conn.agent
	e := &session.Event{Event: session.Leads, ID: k.id, Group: c.Group, Token: c.Token(), Turn: c.Turn(), Lease: c.LeaseLength()}
	if k.readsPage {
		e.Slot, e.Tenure = c.OnPage()
	}
	k.conn.send(a.withLease(e, c.Announced()))
}

// Renewed has a later deadline sent when the keeper reads.
func (k *keeping) Renewed() { trySignal(k.conn.renewals) }

func (k *keeping) OnPage() bool { return k.readsPage }

// laterEnd returns the deadline if the keeper has not been sent it.
func (k *keeping) laterEnd() (end protocol.Time, later bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.candidate == nil || k.candidate.Waits() {
		return 0, false
	}
	end = k.candidate.Announced()
	later = end > k.written && k.written != 0
	if later {
		k.written = end
	}
	return end, later
}

// Over ends the keeping. The keeper heeds it only if its runner is dead: it must not take the end of one tenure for an order to
// kill the next.
func (k *keeping) Over(c *core.Candidate) {
	k.conn.mu.Lock()
	delete(k.conn.keeps, k.id)
	k.conn.mu.Unlock()
	cause := c.FinalCause()
	k.conn.send(&session.Event{Event: session.Over, ID: k.id, Cause: &cause})
}

// left takes note that the runner has left its keeper, or is dead. Without a candidate there is nothing to look after: one that comes
// later has no keeper.
func (k *keeping) left() {
	k.mu.Lock()
	unclaimed := k.candidate == nil
	k.dead = k.dead || unclaimed
	k.mu.Unlock()
	if !unclaimed {
		return // the keeper learns of its end
	}
	a := k.conn.agent
	a.keepers.mu.Lock()
	if a.keepers.all[k.key] == k {
		delete(a.keepers.all, k.key)
	}
	a.keepers.mu.Unlock()
	k.conn.mu.Lock()
	delete(k.conn.keeps, k.id)
	k.conn.mu.Unlock()
	k.conn.send(&session.Event{Event: session.Over, ID: k.id})
}

// lost takes note that nothing more comes from the keeper.
func (k *keeping) lost() {
	a := k.conn.agent
	a.keepers.mu.Lock()
	if a.keepers.all[k.key] == k {
		delete(a.keepers.all, k.key)
	}
	a.keepers.mu.Unlock()
	k.mu.Lock()
	k.dead = true
	c := k.candidate
	k.mu.Unlock()
	if c != nil {
		c.KeeperDied()
	}
}

// reported takes the keeper's word that the tree is gone and that the lost hooks have run.
func (k *keeping) reported(cause protocol.Cause) {
	k.mu.Lock()
	c := k.candidate
	k.mu.Unlock()
	if c != nil {
		c.ReportByKeeper(cause)
	}
}
