package regent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	agreed "github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/roster"
)

// Recover gives the council up, which has lost a majority of its voters for good, and goes on with the members that are left, as another council. All of
// these must agree, and one that has heard a lost member within the last minute (or ten times [Timing.LongestLease]) does not. Recover returns when the new
// council is settled, and leaders can be elected again. If ctx ends before, what was agreed on goes on without the caller.
//
// [roster.Unpromised] says what can no longer be promised afterwards; it is shown until [Member.Acknowledge]. With Try nothing is changed.
func (m *Member) Recover(ctx context.Context, r roster.Recovery) (roster.Outlook, error) {
	if err := m.mayChange(); err != nil {
		return roster.Outlook{}, err
	}
	ask := agreed.Recovery{Lost: r.Lost, At: uint64(time.Now().Unix()), By: m.config.Name, Try: r.Try}
	rand.Read(ask.ID[:])
	look, err := onLoop(ctx, m, func(now protocol.Time) (roster.Outlook, error) {
		look, err := m.outlook(now, &r)
		if err == nil {
			err = m.surrender(now, &ask)
		}
		return look, err
	})
	if err != nil {
		return look, fmt.Errorf("recover: %w", err)
	}
	for {
		moved := m.changing.moved.Wait()
		state, err := onLoop(ctx, m, func(now protocol.Time) (surrenderState, error) { return m.surrendered(&look), nil })
		switch {
		case err != nil:
			return look, fmt.Errorf("recover: %w", err)
		case state.err != nil:
			return look, fmt.Errorf("recover: %w", state.err)
		case state.over:
			look.Heir = state.heir
			return look, nil
		}
		select {
		case <-moved:
		case <-m.loop.Ended():
			return look, ErrClosed
		case <-ctx.Done():
			return look, fmt.Errorf("recover: %w: %s", context.Cause(ctx), state.text)
		}
	}
}

// Acknowledge takes note of what can no longer be promised since a council was given up, for all members of this one.
func (m *Member) Acknowledge(ctx context.Context) (roster.Council, error) {
	if err := m.mayChange(); err != nil {
		return m.Council(), err
	}
	_, err := onLoop(ctx, m, func(now protocol.Time) (struct{}, error) {
		ask := agreed.Change{Acknowledge: true}
		err := m.authority.Council().Change(now, ask)
		switch {
		case errors.Is(err, agreed.ErrNothing):
			return struct{}{}, roster.ErrNothing
		case err == nil:
			m.instance.Post(protocol.Reconfigure{Record: ask.Append(nil)})
		}
		return struct{}{}, err
	})
	if err != nil {
		return m.Council(), fmt.Errorf("acknowledge: %w", err)
	}
	for {
		moved := m.changing.moved.Wait()
		now := m.Council()
		if now.GivenUp == nil || now.GivenUp.Acknowledged {
			return now, nil
		}
		select {
		case <-moved:
		case <-m.loop.Ended():
			return now, ErrClosed
		case <-ctx.Done():
			return now, fmt.Errorf("acknowledge: %w: %s", context.Cause(ctx), now.Progress())
		}
	}
}

// onLoop calls f on the loop, and returns what it returns.
func onLoop[T any](ctx context.Context, m *Member, f func(now protocol.Time) (T, error)) (out T, err error) {
	type answer struct {
		out T
		err error
	}
	done := make(chan answer, 1)
	if err := m.loop.Do(func(now protocol.Time) {
		out, err := f(now)
		done <- answer{out, err}
	}); err != nil {
		return out, err
	}
	select {
	case a := <-done:
		return a.out, a.err
	case <-m.loop.Ended():
		return out, ErrClosed
	case <-ctx.Done():
		return out, context.Cause(ctx)
	}
}

// outlook says what would be given up, or what is wrong with the request.
func (m *Member) outlook(now protocol.Time, r *roster.Recovery) (look roster.Outlook, err error) {
	machine := m.authority.Council()
	conf := machine.Conf()
	if conf == nil || machine.Out() {
		return look, errors.New("this member does not take part: ask another one")
	}
	look = roster.Outlook{Council: conf.Council.String(), Number: conf.Number, Wait: max(machine.Bound(), conf.Terms.Wait())}
	if r.Council != look.Council {
		return look, fmt.Errorf("%w: this member's council is %s, not %q", roster.ErrNotLost, look.Council, r.Council)
	}
	if len(r.Lost) == 0 {
		return look, fmt.Errorf("%w: no member is named as lost", roster.ErrNotLost)
	}
	for _, name := range r.Lost {
		if conf.Named(name) == nil {
			return look, fmt.Errorf("%w: %s is no member (the council is %s)", roster.ErrNotLost, name, strings.Join(m.council().list(), " "))
		}
	}
	for i := range conf.Members {
		x := &conf.Members[i]
		if slices.Contains(r.Lost, x.Name) {
			look.Lost = append(look.Lost, roster.Silence{Name: x.Name, For: machine.Silent(now, x.Seat)})
		} else {
			look.Survivors = append(look.Survivors, x.Name)
		}
	}
	return look, nil
}

// surrender has the machine ask the others.
func (m *Member) surrender(now protocol.Time, ask *agreed.Recovery) error {
	change := agreed.Change{Recovery: ask}
	err := m.authority.Council().Change(now, change)
	var refused *agreed.Refusal
	switch {
	case errors.As(err, &refused):
		return m.objection(refused)
	case err != nil:
		return err
	}
	m.instance.Post(protocol.Reconfigure{Record: change.Append(nil)})
	return nil
}

// surrenderState is how far a recovery has got.
type surrenderState struct {
	over bool
	heir string
	text string
	err  error
}

// surrendered says how far the recovery of a council has got.
func (m *Member) surrendered(look *roster.Outlook) (s surrenderState) {
	machine := m.authority.Council()
	conf := machine.Conf()
	asked, refused, unheard := machine.Surrendering()
	switch {
	case conf.Council.String() != look.Council:
		s.heir, s.over = conf.Council.String(), machine.Settled()
		s.text = "the survivors have agreed, and grant no leases yet"
	case refused != nil:
		s.err = m.objection(refused)
	case asked:
		s.text = "not all survivors have answered yet"
	case !unheard.Empty():
		names := strings.Join(m.council().set(unheard), " and ")
		s.err = fmt.Errorf("%w: no answer of %s within %v: start it, or name it as lost as well", roster.ErrNotLost, names, changePatience)
		if machine.Stopped() {
			s.err = fmt.Errorf("%w (this member has agreed, and takes part in nothing until %s answers. It does not take that back on its own: %s may have agreed as well. "+
				"To go back to the old council, start lost members first: a survivor that hears one and has not agreed objects, and all the others take back what they agreed to)", s.err, names, names)
		}
	case machine.Stopped():
		s.text = "this member has agreed, and waits for the other survivors"
	default:
		s.over = true // it was only asked
	}
	return s
}

// objection says in words why a member does not give the council up.
func (m *Member) objection(r *agreed.Refusal) error {
	by, about := m.council().name(r.By), m.council().name(r.About)
	text := "it does not take part itself yet"
	switch r.Why {
	case agreed.Forgot:
		text = "it has lost its record, so it is as good as lost: stop it and name it as lost, too"
	case agreed.Majority:
		text = "those that are not named as lost are a majority of the voters: use 'regent members remove' or 'replace'"
	case agreed.HeardFrom:
		text = fmt.Sprintf("%s was heard %v ago, or was not silent for long enough since %s started: it must be silent for %v. Stop it, and wait", about, r.Ago.Round(time.Second), by, m.mourn())
	case agreed.NoLeader:
		text = "no member that may lead would be left: begin a new council"
	case agreed.Named:
		text = "it is named as lost itself"
	case agreed.Ahead:
		text = "it has another configuration: try again"
	case agreed.TooOften:
		text = "councils before this one were given up too often: begin a new one"
	}
	return fmt.Errorf("%w: %s objects: %s", roster.ErrNotLost, by, text)
}

// leastMourn is for how long lost members must have been silent at least, and mournPromises how many of the longest leases that is at least.
const (
	leastMourn    = time.Minute
	mournPromises = 10
)

func (m *Member) mourn() time.Duration { return max(leastMourn, mournPromises*m.timing().LongestLease) }

// givenUp describes the council that this one goes on from.
func givenUp(conf *agreed.Config) *roster.GivenUp {
	p := conf.Parent()
	if p == nil {
		return nil
	}
	return &roster.GivenUp{ID: p.Council.String(), Number: p.Number, At: time.Unix(int64(p.At), 0), By: p.By, Lost: p.Lost, Acknowledged: conf.Acknowledged}
}

// lostTo says in words that a member was given up, if a configuration says so; empty if not.
func lostTo(conf *agreed.Config, name string) string {
	for i := range conf.Parents {
		if p := &conf.Parents[i]; slices.Contains(p.Lost, name) && conf.Named(name) == nil {
			return fmt.Sprintf("council %v was given up on %s at %s, and %s with it; council %v goes on: empty the directory of %s, and let it join that",
				p.Council, time.Unix(int64(p.At), 0).UTC().Format("2006-01-02 15:04 MST"), p.By, name, conf.Council, name)
		}
	}
	return ""
}
