package replay

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/agent/web"
	"github.com/regentproject/regent/internal/protocol"
	agreed "github.com/regentproject/regent/internal/protocol/council"
	"github.com/regentproject/regent/roster"
	"github.com/regentproject/regent/sim"
)

// configs are the configurations of a run, by number. They are the same in all its worlds.
type configs map[uint64]*agreed.Config

// council is what is known of the configuration that was chosen last.
type council struct {
	number uint64
	since  time.Duration
}

// standing is how far a member has got.
type standing struct {
	// has says that it has adopted number, and settled that it has settled in it. accepted is the number that it has accepted last.
	number, accepted   uint64
	has, settled, gone bool
}

// readConfigs returns the configurations that a run chooses. The one that it begins with has the voters that the next one names.
func readConfigs(records []sim.Record) configs {
	var all configs
	for i := range records {
		r := &records[i]
		if r.Ev != protocol.EvChosen || all[r.Seq] != nil {
			continue
		}
		c := new(agreed.Config)
		detail, _ := r.Detail.(json.RawMessage)
		if json.Unmarshal(detail, c) != nil || c.Number != r.Seq {
			continue
		}
		if all == nil {
			all = make(configs)
		}
		all[c.Number] = c
		if c.Number == 1 {
			first := new(agreed.Config)
			for r := range c.Before.All() {
				first.Members = append(first.Members, agreed.Member{Seat: r, Name: r.String(), Role: agreed.Leader})
			}
			all[0] = first
		}
	}
	return all
}

// change notes lines that are about the council. It says whether the line is one.
func (w *world) change(r *sim.Record) bool {
	switch r.Ev {
	case protocol.EvAsked:
		text := fmt.Sprintf("%v is asked to change the council", r.Node)
		if r.Why != "asked" {
			text += ", and it refuses: " + strings.TrimPrefix(r.Why, "council: ")
		}
		w.note(r, "", text, "you")
	case protocol.EvVote:
		w.members[r.Node].place.accepted = r.Seq
	case protocol.EvChosen:
		w.chosen(r)
	case protocol.EvAdopt:
		p := &w.members[r.Node].place
		p.number, p.has, p.settled, p.gone = r.Seq, true, false, false
		if r.Why != "chosen" {
			w.note(r, "", fmt.Sprintf("%v has the council with number %d (%s)", r.Node, r.Seq, r.Why), "")
		}
	case protocol.EvSettle:
		if p := &w.members[r.Node].place; p.number == r.Seq {
			p.has, p.settled = true, true
		}
	case protocol.EvOut:
		p := &w.members[r.Node].place
		p.number, p.gone, p.settled = r.Seq, true, false
		w.note(r, "", fmt.Sprintf("%v is no member any more (number %d), and grants nothing", r.Node, r.Seq), "")
	default:
		return false
	}
	return true
}

// chosen notes that a configuration was chosen.
func (w *world) chosen(r *sim.Record) {
	before := w.describe()
	if r.Seq <= w.council.number || w.configs[r.Seq] == nil {
		return
	}
	w.council = council{number: r.Seq, since: time.Duration(r.T)}
	now := w.describe()
	text := now.Difference(before)
	if plan := now.Plan(); text == "" && plan != "" {
		text = plan
	}
	if text == "" {
		text = "the change is over"
	}
	w.note(r, "", fmt.Sprintf("council: number %d is chosen: %s", r.Seq, text), "good")
}

// describe returns the council as members that know all would show it; nil if the run has none that changes.
func (w *world) describe() *roster.Council {
	conf := w.configs[w.council.number]
	if conf == nil {
		return nil
	}
	c := &roster.Council{Number: conf.Number}
	settled, voters := 0, 0
	var waits, learn []string
	for i := range conf.Members {
		m := &conf.Members[i]
		x := roster.Member{Peer: roster.Peer{Name: m.Name, Witness: m.Role == agreed.Witness, Observer: m.Role == agreed.Observer, Priority: m.Priority},
			Rank: int(m.Seat), New: m.Guest, Leaving: conf.Goes(m), Joined: m.Since}
		p := w.place(m.Seat)
		x.Adopted = p.has && p.number == conf.Number || conf.Number == 0
		x.Settled = x.Adopted && (p.settled || conf.Number == 0 && !p.has)
		switch {
		case !x.Observer && x.Settled:
			voters, settled = voters+1, settled+1
		case !x.Observer:
			voters++
			waits = append(waits, x.Name)
		case m.Guest && !x.Settled:
			learn = append(learn, x.Name)
		}
		c.Members = append(c.Members, x)
	}
	c.Settled = 2*settled > voters
	if g := conf.Goal; g != nil {
		c.By, c.Goal = g.By, []roster.Peer{}
		for i := range g.Wishes {
			x := &g.Wishes[i]
			c.Goal = append(c.Goal, roster.Peer{Name: x.Name, Witness: x.Role == agreed.Witness, Observer: x.Role == agreed.Observer, Priority: x.Priority})
		}
	}
	switch {
	case !c.Settled:
		c.Phase, c.WaitsFor = roster.Settling, waits
	case c.Goal == nil:
	case len(learn) > 0:
		c.Phase, c.WaitsFor = roster.Learning, learn
	default:
		c.Phase = roster.Agreeing
	}
	return c
}

// place returns how far the member in a seat has got.
func (w *world) place(seat protocol.Rank) standing {
	if int(seat) >= len(w.members) {
		return standing{}
	}
	return w.members[seat].place
}

// began says whether a member began the council.
func (w *world) began(r protocol.Rank) bool {
	first := w.configs[0]
	return first != nil && first.At(r) != nil
}

// stand shows how far a member has got, by its own lines.
func (w *world) stand(out *web.Member, c *roster.Council, r protocol.Rank) {
	out.Take(c)
	p := w.place(r)
	listed := slices.ContainsFunc(c.Members, func(m roster.Member) bool { return m.Name == out.Name })
	switch {
	case p.gone, !listed && (p.has || w.began(r)):
		out.State = web.Removed
		if !p.gone {
			out.Problem = "has not heard yet that it is no member any more"
		}
	case !listed && out.State == web.Up:
		out.State, out.Problem = web.Joining, "is no member yet"
	}
	out.Accepted = c.Running() && p.accepted == p.number+1
	if p.has || p.gone || w.began(r) {
		number := p.number
		out.Number = &number
	}
}
