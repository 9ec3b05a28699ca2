package regent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/protocol"
	agreed "github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/roster"
)

// Council returns what this member knows of its council. Once the member is closed it is empty, or the council that has removed the member.
func (m *Member) Council() roster.Council {
	now, _ := m.look()
	return now
}

// look is Council with the configuration that it is about; nil once the member is closed.
func (m *Member) look() (roster.Council, *agreed.Config) {
	type sight struct {
		now  roster.Council
		conf *agreed.Config
	}
	c := make(chan sight, 1)
	err := m.loop.Do(func(now protocol.Time) {
		s := sight{now: m.describe(now)}
		if m.authority != nil {
			s.conf = m.authority.Conf()
		}
		c <- s
	})
	if err != nil {
		return m.last(), nil
	}
	select {
	case s := <-c:
		return s.now, s.conf
	case <-m.loop.Ended():
		return m.last(), nil
	}
}

// last is what a member that is closed returns.
func (m *Member) last() roster.Council {
	if c := m.changing.removed.Load(); c != nil {
		return *c
	}
	return roster.Council{}
}

// describe is Council on the loop.
func (m *Member) describe(now protocol.Time) roster.Council {
	all := m.council()
	out := roster.Council{ID: m.id().String(), Settled: true, Fixed: m.fixed, Timing: roster.Timing{LongestLease: m.config.Timing.LongestLease, Drift: m.config.Timing.Drift}, Since: time.Now().Add(-now.Sub(protocol.Time(m.changing.at.Load())))}
	if m.authority == nil {
		for r := range all.peers {
			out.Members = append(out.Members, roster.Member{Peer: all.peers[r], Rank: r})
		}
		return out
	}
	machine := m.authority.Council()
	conf := machine.Conf()
	if conf == nil {
		conf = all.conf
	}
	out.ID, out.GivenUp = conf.Council.String(), givenUp(conf)
	out.Number, out.Settled, out.Removed, out.Timing = conf.Number, machine.Settled() && !machine.Stopped(), machine.Out(), rosterTiming(&conf.Terms)
	for i := range conf.Members {
		x := &conf.Members[i]
		p := peer(x)
		if int(x.Seat) < len(all.peers) && !all.absent.Has(x.Seat) {
			p = all.peers[x.Seat]
		}
		shown := roster.Member{Peer: p, Rank: int(x.Seat), New: x.Guest, Leaving: conf.Goes(x), Joined: x.Since}
		if conf.Number > 0 && !slices.Equal(p.Addrs, x.Addrs) {
			shown.AgreedAddrs = slices.Clone(x.Addrs)
		}
		out.Members = append(out.Members, shown)
	}
	if g := conf.Goal; g != nil {
		out.By, out.Asked = g.By, time.Unix(0, g.Asked)
		if g.Terms != conf.Terms {
			timing := rosterTiming(&g.Terms)
			out.GoalTiming = &timing
		}
		for i := range g.Wishes {
			out.Goal = append(out.Goal, wished(&g.Wishes[i]))
		}
	}
	if fixed := machine.Fixed(); !fixed.Empty() {
		out.Fixed = strings.Join(all.set(fixed), " and ") + " cannot follow a change (give every member a directory)"
	}
	out.Ended, out.Unheard = conf.Ended, all.set(machine.Unheard())
	phase, waits := machine.Progress(now)
	out.Phase = phases[phase]
	if machine.Stopped() {
		out.Phase, waits = roster.GivingUp, machine.Awaited()
	}
	for r := range waits.All() {
		out.WaitsFor = append(out.WaitsFor, all.name(r))
	}
	m.describeTrouble(now, &out)
	out.FileDiffers = all.differs(m.changing.source.Load())
	if machine.Running() {
		out.Groups = int(machine.Standing(now, machine.Seat()).Assigned)
		for i := range out.Members {
			x := &out.Members[i]
			s := machine.Standing(now, protocol.Rank(x.Rank))
			x.Accepted, x.Adopted, x.Settled, x.Learnt = s.Accepted, s.Adopted, s.Settled, int(s.Assigned)
		}
	}
	return out
}

// describeTrouble says what keeps members from going on that the running change waits for.
func (m *Member) describeTrouble(now protocol.Time, c *roster.Council) {
	for i := range c.Members {
		x := &c.Members[i]
		if m.port == nil || !slices.Contains(c.WaitsFor, x.Name) || protocol.Rank(x.Rank) == m.council().self || x.Rank >= len(m.port.Names) {
			continue
		}
		x.Problem = m.port.Peer(now, protocol.Rank(x.Rank)).Problem
		if silent := m.authority.Council().Silence(now, protocol.Rank(x.Rank)); silent >= changeSilence {
			x.Silent = silent
		}
	}
}

// changeSilence is from when on it is worth a word that a member is silent for which a change waits.
const changeSilence = 30 * time.Second

var phases = map[agreed.Progress]roster.Phase{agreed.Idle: roster.Idle, agreed.Settling: roster.Settling, agreed.Learning: roster.Learning, agreed.HandingOver: roster.HandingOver,
	agreed.Blocked: roster.Blocked, agreed.Agreeing: roster.Agreeing}

// wished returns what a goal says of a member.
func wished(w *agreed.Wish) Peer {
	return peer(&agreed.Member{Name: w.Name, Key: w.Key, Addrs: w.Addrs, Priority: w.Priority, Weight: w.Weight, Role: w.Role})
}

// Change changes the council while it runs, and returns when that is done and settled, or has removed this member. Leaders notice nothing, but for those at members
// that leave, whose programs are asked to stop so that a member that stays can take over. If ctx ends before, the change goes on
// without the caller, and the error says what it waits for: [roster.Change.Cancel] ends it. Any member can be asked.
//
// The same change once more is no error: it is waited for.
func (m *Member) Change(ctx context.Context, c roster.Change) (roster.Council, error) {
	if err := m.mayChange(); err != nil {
		return m.Council(), err
	}
	goal, err := m.request(ctx, &c)
	if err != nil {
		return m.Council(), err
	}
	for {
		moved := m.changing.moved.Wait()
		now, conf := m.look()
		if done, err := m.outcome(&now, conf, goal); done {
			return now, err
		}
		select {
		case <-moved:
		case <-m.loop.Ended():
			if last := m.last(); last.Removed {
				return last, nil
			}
			return now, ErrClosed
		case <-ctx.Done():
			return now, fmt.Errorf("change of the council: %w: %s", context.Cause(ctx), progress(&now, goal))
		}
	}
}

// outcome says whether a change is over, and how it has ended.
func (m *Member) outcome(now *roster.Council, conf *agreed.Config, goal *wantedGoal) (done bool, err error) {
	asked := now.Number == goal.asked && (now.Goal == nil) == (goal.Goal != nil) // and no step was taken since
	switch {
	case now.Removed:
		return true, nil
	case asked && now.Fixed != "" && goal.Goal != nil:
		return true, fmt.Errorf("change of the council: %w: %s", roster.ErrDiskless, now.Fixed)
	case asked && len(now.Unheard) > 0:
		return true, m.tooFew(now, goal)
	case now.Goal != nil || !now.Settled:
		return false, nil
	case goal.Goal == nil, reached(conf, goal):
		return true, nil
	case now.Number > goal.asked:
		return true, fmt.Errorf("change of the council: %w: %s; the council is %s (number %d)", roster.ErrCancelled, cmp.Or(now.Ended, "another one followed"),
			strings.Join(namesOf(now), " "), now.Number)
	}
	return false, nil
}

// tooFew says that too few voters were heard.
func (m *Member) tooFew(now *roster.Council, goal *wantedGoal) error {
	what := "nothing has changed"
	if goal.Goal == nil {
		what = "the change that was to be cancelled goes on once they are back"
	}
	voters := 0
	for i := range now.Members {
		if !now.Members[i].Observer {
			voters++
		}
	}
	return fmt.Errorf("change of the council: %w: %s did not answer for %v, and %d of %d voters must agree: %s (start their agents, and ask again)", roster.ErrNoQuorum,
		strings.Join(now.Unheard, ", "), changeAnswer, voters/2+1, voters, what)
}

// mayChange says why the council cannot change.
func (m *Member) mayChange() error {
	switch {
	case m.fixed != "" && m.dir == nil:
		return fmt.Errorf("change of the council: %w: %s (give every member a directory)", roster.ErrDiskless, m.fixed)
	case m.fixed != "":
		return fmt.Errorf("change of the council: %w: %s", roster.ErrFixed, m.fixed)
	}
	return nil
}

// A wantedGoal is the goal of a change, nil for a cancel, and the number at which it was asked for.
type wantedGoal struct {
	*agreed.Goal
	asked uint64
}

// request has the machine propose a change, and returns what is wanted.
func (m *Member) request(ctx context.Context, c *roster.Change) (*wantedGoal, error) {
	type answer struct {
		goal *wantedGoal
		err  error
	}
	done := make(chan answer, 1)
	err := m.loop.Do(func(now protocol.Time) {
		goal, err := m.propose(now, c)
		done <- answer{goal, err}
	})
	if err != nil {
		return nil, err
	}
	select {
	case a := <-done:
		return a.goal, a.err
	case <-m.loop.Ended():
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// propose is request on the loop.
func (m *Member) propose(now protocol.Time, c *roster.Change) (*wantedGoal, error) {
	machine := m.authority.Council()
	ask, err := m.asks(c)
	if err == nil {
		err = m.refusal(machine.Change(now, *ask))
	}
	if err != nil {
		return nil, err
	}
	m.instance.Post(protocol.Reconfigure{Record: ask.Append(nil)})
	return &wantedGoal{ask.Goal, machine.Conf().Number}, nil
}

// asks returns a change as the machine takes it.
func (m *Member) asks(c *roster.Change) (*agreed.Change, error) {
	machine := m.authority.Council()
	conf := machine.Conf()
	if machine.Out() {
		return nil, roster.ErrRemoved
	}
	if conf == nil || !machine.Seated() {
		return nil, fmt.Errorf("change of the council: this member does not take part yet: %s", "ask another one")
	}
	ask := &agreed.Change{Number: c.Number}
	if c.Cancel {
		return ask, nil
	}
	goal, err := m.goal(conf, c)
	if err != nil {
		return nil, fmt.Errorf("change of the council: %w", err)
	}
	ask.Goal, ask.Keys = goal, m.otherwise(conf)
	return ask, nil
}

// refusal returns the exported error for one of the machine.
func (m *Member) refusal(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("change of the council: %w", m.exported(err))
}

func (m *Member) exported(err error) error {
	for from, to := range map[error]error{agreed.ErrChanging: roster.ErrChanging, agreed.ErrUnchanged: roster.ErrUnchanged, agreed.ErrNumber: roster.ErrNumber, agreed.ErrTooLarge: roster.ErrFixed} {
		if errors.Is(err, from) {
			if from == agreed.ErrChanging {
				now := m.describe(m.world.Clock.Now())
				return fmt.Errorf("%w: it was asked for at %s %v ago, and is %s; what was asked for now has changed nothing (cancel it, or wait for its end)", to, now.By,
					time.Since(now.Asked).Round(time.Second), now.Progress())
			}
			if from == agreed.ErrNumber {
				return fmt.Errorf("%w: %s: nothing has changed (look at the council, and ask again)", to, strings.TrimPrefix(err.Error(), from.Error()+": "))
			}
			text := strings.TrimPrefix(err.Error(), "council: ")
			if text == to.Error() {
				return to
			}
			return fmt.Errorf("%w: %s", to, text)
		}
	}
	return errors.New(strings.TrimPrefix(err.Error(), "council: "))
}

// goal returns what the council shall be after a change.
func (m *Member) goal(conf *agreed.Config, c *roster.Change) (*agreed.Goal, error) {
	if conf.Goal != nil && len(c.Add)+len(c.Remove)+len(c.Set) == 0 && c.Timing == nil {
		return conf.Goal, nil
	}
	all := m.council()
	terms, err := m.terms(conf, c.Timing)
	if err != nil {
		return nil, err
	}
	g := &agreed.Goal{Terms: terms, By: m.config.Name, Asked: time.Now().UnixNano(), Within: max(0, cmp.Or(c.Within, roster.DefaultWithin))}
	for i := range conf.Members {
		x := &conf.Members[i]
		if x.Guest {
			continue
		}
		p := all.peers[x.Seat]
		if conf.Number > 0 {
			p.Addrs = x.Addrs // those in the file of this member are hints, and nobody has asked for them
		}
		w := agreed.Wish{Name: x.Name, Key: cmpKey(p.PublicKeys, x.Key), Addrs: p.Addrs, Priority: x.Priority, Weight: x.Weight, Role: x.Role, Seat: protocol.Nobody}
		if x.Name == m.config.Name {
			w.Key = ownKey(conf, x, m.changing.source.Load().ownKeyText())
		}
		g.Wishes = append(g.Wishes, w)
	}
	find := func(name string) int {
		return slices.IndexFunc(g.Wishes, func(w agreed.Wish) bool { return w.Name == name })
	}
	for _, name := range c.Remove {
		i := find(name)
		if i < 0 {
			return nil, fmt.Errorf("remove %s: no such member: nothing has changed (the council is %s)", name, strings.Join(all.list(), " "))
		}
		g.Wishes = slices.Delete(g.Wishes, i, i+1)
	}
	for i := range c.Set {
		at := find(c.Set[i].Name)
		if at < 0 {
			return nil, fmt.Errorf("set %s: no such member: nothing has changed (the council is %s)", c.Set[i].Name, strings.Join(all.list(), " "))
		}
		w, err := wish(&c.Set[i])
		if err != nil {
			return nil, err
		}
		if err := m.config.checkWeight(w, g.Wishes[at].Weight); err != nil {
			return nil, err
		}
		g.Wishes[at] = *w
	}
	if err := m.invite(conf, g, c.Add); err != nil {
		return nil, err
	}
	return g, checkKeys(g)
}

// invite adds new members to a goal.
func (m *Member) invite(conf *agreed.Config, g *agreed.Goal, add []Peer) error {
	for i := range add {
		w, err := wish(&add[i])
		if err != nil {
			return err
		}
		if err := m.config.checkWeight(w, 0); err != nil {
			return err
		}
		if at := slices.IndexFunc(g.Wishes, func(x agreed.Wish) bool { return x.Name == w.Name }); at >= 0 {
			now := &g.Wishes[at]
			switch {
			case sameWish(w, now):
				continue // asked for again
			case sameHost(w.Key, now.Key):
				return fmt.Errorf("add %s: the member %s has this key already: nothing has changed (set changes its address and the like; a new host of the name draws a key of its own)", w.Name, w.Name)
			}
			g.Wishes = slices.Delete(g.Wishes, at, at+1)
		}
		if old := conf.Named(w.Name); old != nil && !old.Guest {
			w.Not = old.Birth
		}
		g.Wishes = append(g.Wishes, *w)
	}
	return nil
}

// cmpKey returns the keys as text, or else another text.
func cmpKey(keys []string, other string) string {
	if len(keys) > 0 {
		return keyText(keys)
	}
	return other
}

// wish returns what a goal says of a member, or what is wrong with that.
func wish(p *Peer) (*agreed.Wish, error) {
	check := Config{Name: p.Name, Council: []Peer{{Name: p.Name, Addrs: p.Addrs, Weight: p.Weight}}}
	if _, err := check.council(); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "config: "))
	}
	switch {
	case p.Votes > 1:
		return nil, fmt.Errorf("member %s: votes are for councils that do not change", p.Name)
	case p.Revoked:
		return nil, fmt.Errorf("member %s is revoked: remove it instead", p.Name)
	case p.Witness && p.Observer:
		return nil, fmt.Errorf("member %s is a witness and an observer: choose one", p.Name)
	}
	if _, err := identityOf(p); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "config: "))
	}
	return &agreed.Wish{Name: p.Name, Key: keyText(p.PublicKeys), Addrs: p.Addrs, Priority: p.Priority, Weight: weightOf(p), Role: agreedRole(p), Seat: protocol.Nobody}, nil
}

// sameWish says whether two wishes say the same of a member.
func sameWish(a, b *agreed.Wish) bool {
	return a.Key == b.Key && slices.Equal(a.Addrs, b.Addrs) && a.Priority == b.Priority && a.Weight == b.Weight && a.Role == b.Role
}

// sameHost says whether two lists of keys have one in common.
func sameHost(a, b string) bool {
	return slices.ContainsFunc(strings.Fields(a), func(k string) bool { return slices.Contains(strings.Fields(b), k) })
}

// checkWeight refuses another weight where it has no effect.
func (c *Config) checkWeight(w *agreed.Wish, now int) error {
	if w.Weight == now || c.Balance {
		return nil
	}
	return fmt.Errorf("member %s: weight %d: this council is not balanced, and weights have no effect (set balance for every member)", w.Name, w.Weight)
}

// checkKeys refuses a goal in which a member has no key, or two have the same.
func checkKeys(g *agreed.Goal) error {
	owners := make(map[string]string)
	for i := range g.Wishes {
		w := &g.Wishes[i]
		keys := strings.Fields(w.Key)
		if len(keys) == 0 && len(g.Wishes) > 1 {
			return fmt.Errorf("member %s has no public key (read it there with 'regent keys show')", w.Name)
		}
		for _, k := range keys {
			if other := owners[k]; other != "" {
				public, _ := identity.ParsePublic(k)
				return fmt.Errorf("members %s and %s have the same public key %s: every member draws its own", other, w.Name, public.Fingerprint())
			}
			owners[k] = w.Name
		}
	}
	return nil
}

// namesOf returns the names of the members.
func namesOf(c *roster.Council) []string {
	var names []string
	for i := range c.Members {
		names = append(names, c.Members[i].Name)
	}
	return names
}

// reached says whether a configuration is what a goal wants.
func reached(conf *agreed.Config, g *wantedGoal) bool {
	if conf == nil || conf.Number <= g.asked || len(conf.Members) != len(g.Wishes) || conf.Terms != g.Terms {
		return false
	}
	for i := range g.Wishes {
		if w := &g.Wishes[i]; !w.Fulfilled(conf.Named(w.Name)) {
			return false
		}
	}
	return true
}

// progress says how far a change has got.
func progress(c *roster.Council, g *wantedGoal) string {
	text := c.Progress()
	if g.Goal != nil && c.Number == g.asked && c.Goal == nil {
		text += "; nothing has changed yet"
	}
	return text
}
