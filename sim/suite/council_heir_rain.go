package suite

import (
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/rain"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/check"
)

// The rows of a consistent group whose council is given up.
const (
	heirAgreed  = "consistent group agreed in a council of survivors"
	heirNames   = "first agreement of survivors named a member of which they knew no agreement"
	heirMissed  = "survivors did not know the last agreement"
	heirManaged = "second agreement in a council of survivors"
)

// councilHeirRainProtocol is a consistent group of a council that survivors give up.
func councilHeirRainProtocol() *Protocol {
	p := councilHeirProtocol()
	p.Name = "council heirs rain"
	p.About = "a consistent group begins anew in a council of survivors, and names all that may have failed before"
	p.Groups = append(p.Groups, RainGroup)
	p.Messages = append(append(p.Messages, rainMessages...), "rain.Ask", "rain.Told")
	setup := heirRainSetup{councilRainSetup{councilSetup: councilSetup{first: 3, mourn: mourn}}}
	p.Spawn = setup.spawn
	configure := p.Configure
	p.Configure = func(c *sim.Config) {
		configure(c)
		c.Messages = true
	}
	vary := p.Vary
	p.Vary = func(c *sim.Config) {
		vary(c)
		s := heirRainSetup{councilRainSetup{councilSetup{first: min(c.Members, 2), mourn: mourn}, true}}
		if c.Members > 2 {
			s.first += sim.NewDice(c.Seed, 0xc0c2).N(c.Members - 1)
		}
		c.Spawn = s.spawn
	}
	groups := []protocol.Group{"blue"}
	p.Checkers = func(t check.Truth) []check.Checker {
		return check.HeirsRain(t, check.CouncilSpec{Groups: groups, Settle: councilRainSettle - 2*time.Second}, RainGroup)
	}
	p.Settle = councilRainSettle
	// Machines of consistent groups cannot be copied, and nobody finds out that a record of the present start lacks views.
	p.Backups, p.Snapshots = false, false
	p.Rows = append(slices.DeleteFunc(slices.Clone(p.Rows), func(row string) bool { return row == survivorWentBack }), heirAgreed, heirNames, heirMissed, heirManaged)
	p.Least = map[string]int{heirTakenBack: 5, givenUpAgain: 5, heirMissed: 5, heirNames: 5}
	p.Watch = func(_ check.Truth, hit func(string)) sim.Observer {
		return &heirRainWatch{heirWatch: heirWatch{hit: hit}}
	}
	return p
}

// A heirRainSetup is a council with a consistent group that is also given up.
type heirRainSetup struct{ councilRainSetup }

func (s heirRainSetup) spawn(b sim.Boot) (protocol.Machine, error) {
	m, below, err := s.both(b)
	if err != nil {
		return nil, err
	}
	return &realm{m, below, b.Self}, nil
}

// heirRainWatch counts the rows.
type heirRainWatch struct {
	heirWatch
	reported rain.Number
}

// Observe looks at views.
func (w *heirRainWatch) Observe(r *sim.Record) error {
	switch r.Ev {
	case sim.EvView:
		if v, ok := r.Detail.(*protocol.View); ok && v.Agreed != nil {
			if n := (rain.Number{Token: v.Term, Vid: v.Agreed.Vid}); n.Compare(w.reported) > 0 {
				w.reported = n
			}
		}
	case protocol.EvInstall:
		w.install(r)
	}
	return w.heirWatch.Observe(r)
}

func (w *heirRainWatch) install(r *sim.Record) {
	v, ok := r.Detail.(rain.View)
	conf := w.at[r.Node]
	if !ok || r.Why != "decided" || conf == nil {
		return
	}
	p := conf.Parent()
	if v.Before > p.Number {
		w.hit(heirManaged)
		return
	}
	w.hit(heirAgreed)
	if w.reported.Compare(v.Parent) > 0 {
		w.hit(heirMissed)
	}
	if slices.ContainsFunc(v.Unfinished, func(l protocol.Loss) bool { return l.Number == p.Number }) {
		w.hit(heirNames)
	}
}
