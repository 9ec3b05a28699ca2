package script

import (
	"math"
	"slices"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
)

// An action is what a statement does when it is played.
type action interface{ play(*player) error }

// verbs are all statements, by their first word.
var verbs map[string]verb

func init() {
	verbs = map[string]verb{
		"protocol": {set: setProtocol, usage: "protocol NAME [VARIANT] [OPTION=VALUE ...]"},
		"members":  {set: setMembers, usage: "members N"},
		"seed":     {set: setSeed, usage: "seed N"},
		"groups":   {set: setGroups, usage: "groups NAME ... [without candidates]"},
		"links":    {set: setLinks, usage: "links [LINKS] [delay D[..D] [tail P% of D]] [loss P%] [duplicate P%] [fifo] [reliable]"},
		"timers":   {set: setTimers, usage: "timers [late D[..D]] [twice P%]"},
		"varied":   {set: setVaried, usage: "varied"},
		"ports":    {set: setPorts, usage: "ports"},
		"disks":    {set: setDisks, usage: "disks take D[..D]"},
		"starts":   {set: setStarts, usage: "starts D[..D]"},
		"down":     {set: setDown, usage: "down MEMBERS"},
		"programs": {set: setPrograms, usage: "programs [act D[..D]] [stop D[..D]] [stubborn P%] [again D[..D]]"},
		"bounds":   {set: setBounds, usage: "bounds [slack D[..D]] [unknown P%]"},
		"clock": {set: setClock, parse: parseClock, usage: "clock MEMBERS [rate RATE] [shows D]\nclock MEMBERS rate RATE [for D]\n" +
			"clock MEMBERS jumps D\nclock MEMBERS stops [for D]\nclock MEMBERS runs"},

		"crash":     {parse: parseCrash, usage: "crash MEMBERS [for D [without disk | from [known] backup N | rebooted]]"},
		"restart":   {parse: parseRestart, usage: "restart MEMBERS [without disk | from [known] backup N | rebooted]"},
		"leave":     {parse: parseLeave, usage: "leave MEMBERS within D [for D [without disk | from [known] backup N | rebooted]]"},
		"change":    {parse: parseChange, usage: "change MEMBER to MEMBERS [as N] [within D]\nchange MEMBER cancels"},
		"roll":      {parse: parseRoll, usage: "roll to N for D"},
		"pause":     {parse: parseFreeze(sim.Pause), usage: "pause MEMBERS [for D]"},
		"suspend":   {parse: parseFreeze(sim.Suspend), usage: "suspend MEMBERS [for D]"},
		"halt":      {parse: parseFreeze(sim.Halt), usage: "halt MEMBERS [for D]"},
		"revoke":    {parse: parseRevoke, usage: "revoke LINKS [for D]"},
		"rotate":    {parse: parseFreeze(sim.Rotate), usage: "rotate MEMBERS [for D]"},
		"snapshot":  {parse: parseFreeze(sim.Snapshot), usage: "snapshot MEMBERS [for D]"},
		"ill":       {parse: parseFreeze(sim.Ill), usage: "ill MEMBERS [for D]"},
		"drain":     {parse: parseFreeze(sim.Drain), usage: "drain MEMBERS [for D]"},
		"undrain":   {parse: parseUndrain, usage: "undrain MEMBERS"},
		"goback":    {parse: parseGoBack, usage: "goback MEMBERS"},
		"well":      {parse: parseWell, usage: "well MEMBERS"},
		"resume":    {parse: parseResume, usage: "resume MEMBERS"},
		"cut":       {parse: parseCut, usage: "cut LINKS [for D]"},
		"partition": {parse: parsePartition, usage: "partition MEMBERS [for D]"},
		"slow":      {parse: parseSlow, usage: "slow LINKS by D [for D]"},
		"lose":      {parse: parseOdds(sim.Lose), usage: "lose LINKS P% [for D]"},
		"duplicate": {parse: parseOdds(sim.Duplicate), usage: "duplicate LINKS P% [for D]"},
		"heal":      {parse: parseHeal, usage: "heal [LINKS]"},
		"disk":      {parse: parseDisk, usage: "disk MEMBERS slow by D [for D]\ndisk MEMBERS recovers"},

		"campaign": {parse: parseCampaign, usage: "campaign MEMBERS [GROUP] [for D]"},
		"resign":   {parse: parseResign, usage: "resign MEMBERS [GROUP]"},
		"transfer": {parse: parseTransfer, usage: "transfer MEMBER to MEMBER [GROUP]"},
		"find":     {parse: parseFind, usage: "find MEMBERS [GROUP]"},
		"verify":   {parse: parseVerify, usage: "verify MEMBERS [GROUP] [for D]"},
		"begin":    {parse: parseBegin, usage: "begin MEMBERS [GROUP]"},
		"unfit":    {parse: parseUnfit, usage: "unfit MEMBERS"},
		"trust":    {parse: parseTrust, usage: "trust MEMBERS MEMBER"},

		"hold":    {parse: parseRule(hold), usage: "hold [next [N]] MESSAGE LINKS"},
		"drop":    {parse: parseRule(drop), usage: "drop [next [N]] MESSAGE LINKS"},
		"delay":   {parse: parseRule(delay), usage: "delay [next [N]] MESSAGE LINKS by D"},
		"copy":    {parse: parseRule(keepTwo), usage: "copy [next [N]] MESSAGE LINKS"},
		"deliver": {parse: parseDeliver, usage: "deliver [first | last] MESSAGE LINKS"},
		"forget":  {parse: parseForget, usage: "forget [first | last] MESSAGE LINKS"},
		"pass":    {parse: parsePass, usage: "pass MESSAGE LINKS"},

		"at":     {parse: parseAt, usage: "at D STATEMENT"},
		"after":  {parse: parseAfter, usage: "after D STATEMENT"},
		"run":    {parse: parseRun, usage: "run D [while CONDITION]\nrun until D\nrun until CONDITION [within D]"},
		"settle": {parse: parseSettle, usage: "settle D [MEMBERS]"},
		"expect": {parse: parseExpect, usage: "expect CONDITION\nexpect violation NAME"},
		"show":   {parse: parseShow, usage: "show views | held | clocks | members"},
		"watch":  {parse: parseWatch, usage: "watch views\nwatch facts [EVENT ...]\nwatch messages [MESSAGE ...]\nwatch nothing"},
	}
}

// faults is a statement that begins faults now.
type faults []sim.Fault

// forHow takes "for D", if it is there.
func (p *parser) forHow() time.Duration {
	if !p.accept("for") {
		return 0
	}
	return p.positive("how long")
}

// disk takes what a member finds when it comes back.
func (p *parser) disk(f *sim.Fault) {
	switch {
	case p.accept("without"):
		p.expect("disk")
		f.Disk = sim.Lost
	case p.accept("from"):
		f.Disk = sim.Backup
		if p.accept("known") {
			f.Disk = sim.Known
		}
		p.expect("backup")
		f.Amount = int64(p.number("how many records ago", 1, 1000))
	case p.accept("rebooted"):
		f.Disk = sim.Reboot
	}
}

// each makes one fault for each member.
func each(who []protocol.Rank, f sim.Fault) faults {
	all := make(faults, len(who))
	for i, r := range who {
		all[i] = f
		all[i].A, all[i].B = r, protocol.Nobody
	}
	return all
}

// eachLink makes one fault for each link.
func eachLink(l Links, f sim.Fault) faults {
	var all faults
	for _, pair := range l.pairs() {
		f.A, f.B = pair[0], pair[1]
		all = append(all, f)
	}
	return all
}

func parseCrash(p *parser) action {
	f := sim.Fault{Kind: sim.Crash}
	who, at := p.who(), p.next
	if p.back(&f); f.For == 0 && f.Disk != sim.Kept {
		p.failAt(p.tokens[at], "say for how long it is down, or say this when it restarts")
	}
	return each(who, f)
}

func parseRoll(p *parser) action {
	p.expect("to")
	f := sim.Fault{Kind: sim.Roll, A: protocol.Nobody, B: protocol.Nobody, Amount: int64(p.number("which configuration", 0, 1000))}
	f.For = p.forHow()
	return faults{f}
}

func parseChange(p *parser) action {
	f := sim.Fault{Kind: sim.Change, A: p.member(), B: protocol.Nobody}
	if p.accept("cancels") {
		return faults{f}
	}
	p.expect("to")
	f.Side = p.members()
	if p.accept("as") {
		f.Amount = int64(p.number("which variant", 0, 1000))
	}
	if p.accept("within") {
		f.For = p.positive("for how long a newcomer may be silent")
	}
	return faults{f}
}

func parseRestart(p *parser) action {
	f := sim.Fault{Kind: sim.Restart}
	who := p.who()
	p.disk(&f)
	return each(who, f)
}

func parseLeave(p *parser) action {
	f := sim.Fault{Kind: sim.Leave}
	who := p.who()
	p.expect("within")
	f.Amount = int64(p.positive("how long it may take"))
	p.back(&f)
	return each(who, f)
}

// back takes when a member comes back and with what, in either order.
func (p *parser) back(f *sim.Fault) {
	f.For = p.forHow()
	p.disk(f)
	if f.For == 0 {
		f.For = p.forHow()
	}
}

func parseFreeze(k sim.Kind) func(*parser) action {
	return func(p *parser) action {
		who := p.who()
		return each(who, sim.Fault{Kind: k, For: p.forHow()})
	}
}

func parseResume(p *parser) action {
	return &ending{kinds: []sim.Kind{sim.Pause, sim.Suspend, sim.Halt}, who: p.some(), what: "frozen"}
}

func parseRevoke(p *parser) action {
	l := p.links()
	return eachLink(l, sim.Fault{Kind: sim.Revoke, For: p.forHow()})
}

func parseGoBack(p *parser) action {
	return &ending{kinds: []sim.Kind{sim.Snapshot}, who: p.some(), what: "to be restored from a snapshot"}
}

func parseWell(p *parser) action {
	return &ending{kinds: []sim.Kind{sim.Ill}, who: p.some(), what: "ill"}
}

func parseUndrain(p *parser) action {
	return &ending{kinds: []sim.Kind{sim.Drain}, who: p.some(), what: "drained"}
}

func parseCut(p *parser) action {
	l := p.links()
	return eachLink(l, sim.Fault{Kind: sim.Cut, For: p.forHow()})
}

func parsePartition(p *parser) action {
	side := p.members()
	return faults{{Kind: sim.Partition, Side: side, A: protocol.Nobody, B: protocol.Nobody, For: p.forHow()}}
}

func parseSlow(p *parser) action {
	l := p.links()
	p.expect("by")
	f := sim.Fault{Kind: sim.Slow, Amount: int64(p.positive("how much slower"))}
	f.For = p.forHow()
	return eachLink(l, f)
}

func parseOdds(k sim.Kind) func(*parser) action {
	return func(p *parser) action {
		l := p.links()
		f := sim.Fault{Kind: k, Amount: int64(p.odds())}
		f.For = p.forHow()
		return eachLink(l, f)
	}
}

func parseHeal(p *parser) action {
	if p.peek() == "" {
		return &healing{}
	}
	at := token{p.peek(), p.col()}
	l := p.plain(at, p.links())
	return &healing{links: &l}
}

func parseDisk(p *parser) action {
	who := p.who()
	if p.accept("recovers") {
		return &ending{kinds: []sim.Kind{sim.SlowDisk}, who: protocol.NewSet(who...), what: "slow of disk"}
	}
	p.expect("slow")
	p.expect("by")
	f := sim.Fault{Kind: sim.SlowDisk, Amount: int64(p.positive("how much slower"))}
	f.For = p.forHow()
	return each(who, f)
}

func parseClock(p *parser) action {
	who := p.who()
	switch t := p.take("rate, jumps, stops or runs"); t.text {
	case "rate":
		f := sim.Fault{Kind: sim.Rate, Amount: p.rate()}
		f.For = p.forHow()
		return each(who, f)
	case "jumps":
		return each(who, sim.Fault{Kind: sim.Jump, Amount: int64(p.positive("how far"))})
	case "stops":
		return each(who, sim.Fault{Kind: sim.Rate, Amount: -billion, For: p.forHow()})
	case "runs":
		if slices.Contains(who, sim.TheLeader) {
			p.failAt(t, "name the member: the leader may be another one by now")
		}
		return &ending{kinds: []sim.Kind{sim.Rate}, who: protocol.NewSet(who...), what: "off its rate"}
	default:
		p.failAt(t, "%q: expected rate, jumps, stops or runs", t.text)
		return nil
	}
}

// maybeGroup takes a group if one is named. It need not be if there is only one, or none.
func (p *parser) maybeGroup() protocol.Group {
	groups := p.script.Groups
	if next := p.peek(); next != "" && next != "for" {
		return p.group()
	}
	switch len(groups) {
	case 0:
		return ""
	case 1:
		return groups[0]
	}
	p.fail("the line ends here: a group is missing%s", groupHint(groups))
	return ""
}

func parseCampaign(p *parser) action {
	who := p.who()
	return each(who, sim.Fault{Kind: sim.Campaign, Group: p.maybeGroup(), Amount: int64(p.forHow())})
}

func parseResign(p *parser) action {
	who := p.who()
	return each(who, sim.Fault{Kind: sim.Resign, Group: p.maybeGroup()})
}

func parseTransfer(p *parser) action {
	f := sim.Fault{Kind: sim.Transfer, A: p.one()}
	p.expect("to")
	f.B = p.one()
	f.Group = p.maybeGroup()
	return faults{f}
}

func parseFind(p *parser) action {
	who := p.who()
	return each(who, sim.Fault{Kind: sim.Find, Group: p.maybeGroup()})
}

func parseVerify(p *parser) action {
	who := p.who()
	f := sim.Fault{Kind: sim.Verify, Group: p.maybeGroup()}
	f.Amount = int64(p.forHow())
	return each(who, f)
}

func parseBegin(p *parser) action {
	who := p.some()
	return &command{who, protocol.Begin{Group: p.maybeGroup()}}
}

func parseUnfit(p *parser) action { return &command{p.some(), protocol.Unfit{}} }

func parseTrust(p *parser) action {
	who := p.some()
	return &command{who, protocol.Trusts{Leader: p.member()}}
}

func parseAt(p *parser) action {
	at := p.duration("an instant, counted from the beginning")
	return &later{at: sim.Real(at), do: p.inner()}
}

func parseAfter(p *parser) action {
	d := p.duration("a length of time, counted from now")
	return &later{in: d, relative: true, do: p.inner()}
}

// inner takes a statement that another one postpones.
func (p *parser) inner() action {
	t := token{p.peek(), p.col()}
	switch t.text {
	case "at", "after", "run", "settle", "expect", "show", "watch":
		p.failAt(t, "%q: only what goes wrong, commands and rules for messages can be postponed", t.text)
	}
	do := p.statement()
	if do == nil {
		p.failAt(t, "%q: a setting cannot be postponed", t.text)
	}
	return do
}

func parseRun(p *parser) action {
	if p.accept("until") {
		if d, err := time.ParseDuration(p.peek()); err == nil && d >= 0 {
			p.next++
			return &run{until: sim.Real(d), absolute: true}
		}
		r := &run{cond: p.condition(), within: defaultWithin}
		if p.accept("within") {
			r.within = p.positive("how long to wait")
		}
		return r
	}
	r := &run{length: p.positive("how long to run, or until")}
	if p.accept("while") {
		r.hold = p.condition()
	}
	return r
}

// defaultWithin is how long a run waits for what it runs until.
const defaultWithin = time.Minute

func parseSettle(p *parser) action {
	s := &settling{length: p.positive("how long")}
	if p.peek() != "" {
		s.core = p.some()
	} else {
		s.core = protocol.Everyone(p.script.Members)
	}
	return s
}

func parseExpect(p *parser) action {
	if p.accept("violation") {
		from := p.next
		for p.take("the name of an invariant"); p.peek() != ""; {
			p.take("")
		}
		return &expectViolation{p.rest(from)}
	}
	return &expectation{p.condition()}
}

func parseShow(p *parser) action {
	t := p.take("views, held, clocks or members")
	if f, ok := shows[t.text]; ok {
		return show(f)
	}
	p.failAt(t, "%q: expected views, held, clocks or members", t.text)
	return nil
}

func parseWatch(p *parser) action {
	w := &watch{}
	switch t := p.take("views, facts, messages or nothing"); t.text {
	case "views", "nothing":
		w.what = t.text
	case "facts", "messages":
		w.what = t.text
		for p.peek() != "" {
			name := p.take("")
			if t.text == "messages" && !slices.Contains(p.protocol.Messages, name.text) {
				p.failAt(name, "%q: no such message%s", name.text, suggest(name.text, p.protocol.Messages))
			}
			w.only = append(w.only, name.text)
		}
	default:
		p.failAt(t, "%q: expected views, facts, messages or nothing", t.text)
	}
	return w
}

// selector takes which messages a statement is about.
func (p *parser) selector() selector {
	if p.ported {
		p.failAt(p.tokens[0], "messages travel as packets in this script, which cannot be distinguished: leave out ports")
	}
	t := p.take("a message, such as rank.OK")
	known := p.protocol.Messages
	if t.text != "*" && !slices.Contains(known, t.text) {
		p.failAt(t, "%q: no such message%s", t.text, suggest(t.text, append(slices.Clone(known), "*")))
	}
	at := token{p.peek(), p.col()}
	return selector{t.text, p.plain(at, p.links())}
}

func parseRule(do ruleKind) func(*parser) action {
	return func(p *parser) action {
		r := &rule{kind: do, left: math.MaxInt}
		if p.accept("next") {
			r.left = 1
			if next := p.peek(); next != "" && next[0] >= '0' && next[0] <= '9' {
				r.left = int(p.number("how many", 1, math.MaxInt32))
			}
		}
		r.selector = p.selector()
		if do == delay {
			p.expect("by")
			r.by = p.positive("how long")
		}
		return (*addRule)(r)
	}
}

// which takes first or last, if one of them is there.
func (p *parser) which() which {
	switch {
	case p.accept("first"):
		return first
	case p.accept("last"):
		return last
	}
	return every
}

func parseDeliver(p *parser) action {
	w := p.which()
	return &deliverHeld{which: w, selector: p.selector()}
}

func parseForget(p *parser) action {
	w := p.which()
	return &deliverHeld{which: w, selector: p.selector(), forget: true}
}

func parsePass(p *parser) action { return &endRules{p.selector()} }
