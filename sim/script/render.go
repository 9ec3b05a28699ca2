package script

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/fuzz"
	"github.com/regentproject/regent/sim/suite"
)

// Render writes a plan as a script that plays the same run. The comment, of one or several lines, stands above it; options
// are those that the protocol was given.
func Render(pl *fuzz.Plan, comment string, options ...string) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for line := range strings.SplitSeq(strings.TrimSpace(comment), "\n") {
		say("%s", strings.TrimSpace("# "+line))
	}
	say("%s", strings.Join(append([]string{"protocol", pl.Protocol}, options...), " "))
	say("members %d", pl.Members)
	say("seed %d", pl.Seed)
	for _, s := range worldSettings(pl) {
		say("%s", s)
	}
	if p, err := suite.Lookup(pl.Protocol); err == nil && p.Vary != nil && len(options) == 0 {
		say("varied")
	}
	say("")
	for i := range pl.Faults {
		say("at %v %s", pl.Faults[i].At, FaultStatement(&pl.Faults[i]))
	}
	say("run %v", pl.Safety)
	say("settle %v %v", pl.Liveness, pl.Core)
	return b.String()
}

// worldSettings writes what a plan says about clocks, links, disks and programs, as far as it is not what it would be
// anyway.
func worldSettings(pl *fuzz.Plan) []string {
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for i, c := range pl.Clocks {
		if c != (sim.ClockSpec{}) {
			say("clock %v rate %s shows %v", protocol.Rank(i), rateText(c.Rate), time.Duration(c.Offset))
		}
	}
	say("links %s", linkText(&pl.Link))
	if pl.Timer != (sim.Delay{}) || pl.Spurious != 0 {
		say("timers late %v twice %v", pl.Timer, pl.Spurious)
	}
	if pl.Bound.Slack != (sim.Delay{}) || pl.Bound.Unknown != 0 {
		say("bounds slack %v unknown %v", pl.Bound.Slack, pl.Bound.Unknown)
	}
	if led(pl) {
		prog := &pl.Program
		say("programs act %v stop %v stubborn %v again %v", prog.Act, prog.Stop, prog.Stubborn, prog.Again)
	}
	if pl.Stagger != (sim.Delay{}) {
		say("starts %v", pl.Stagger)
	}
	if pl.Ports {
		say("ports")
	}
	return all
}

// led says whether programs play a part in a plan: where there are groups, or somebody resigns from one.
func led(pl *fuzz.Plan) bool {
	p, err := suite.Lookup(pl.Protocol)
	return err != nil || len(p.Groups) > 0 || slices.ContainsFunc(pl.Faults, func(f sim.Fault) bool { return f.Kind == sim.Resign })
}

func linkText(l *sim.Link) string {
	s := fmt.Sprintf("delay %v", l.Delay)
	if l.Loss > 0 {
		s += fmt.Sprintf(" loss %v", l.Loss)
	}
	if l.Duplicate > 0 {
		s += fmt.Sprintf(" duplicate %v", l.Duplicate)
	}
	if l.FIFO {
		s += " fifo"
	}
	if l.Reliable {
		s += " reliable"
	}
	return s
}

func rateText(ppb int64) string {
	if ppb%1000 == 0 {
		return fmt.Sprintf("%+dppm", ppb/1000)
	}
	return fmt.Sprintf("%+dppb", ppb)
}

// FaultStatement writes a fault as the statement that begins it.
func FaultStatement(f *sim.Fault) string {
	s := faultText(f)
	switch f.Kind {
	case sim.Restart, sim.Jump, sim.Campaign, sim.Resign, sim.Transfer, sim.Find, sim.Verify, sim.Change: // these are over at once
		return s
	}
	if f.For > 0 {
		s += fmt.Sprintf(" for %v", f.For)
	}
	return s
}

func faultText(f *sim.Fault) string {
	who, link := memberText(f.A), memberText(f.A)+"->"+memberText(f.B)
	amount := time.Duration(f.Amount)
	switch f.Kind {
	case sim.Cut, sim.Revoke:
		return f.Kind.String() + " " + link
	case sim.Slow:
		return fmt.Sprintf("slow %s by %v", link, amount)
	case sim.Lose, sim.Duplicate:
		return fmt.Sprintf("%v %s %v", f.Kind, link, sim.Odds(f.Amount))
	case sim.Partition:
		return fmt.Sprintf("partition %v", f.Side)
	case sim.Rate:
		if f.Amount == -billion {
			return fmt.Sprintf("clock %s stops", who)
		}
		return fmt.Sprintf("clock %s rate %s", who, rateText(f.Amount))
	case sim.Jump:
		return fmt.Sprintf("clock %s jumps %v", who, amount)
	case sim.SlowDisk:
		return fmt.Sprintf("disk %s slow by %v", who, amount)
	case sim.Crash, sim.Restart:
		return fmt.Sprintf("%v %s%s", f.Kind, who, diskText(f))
	case sim.Roll:
		return fmt.Sprintf("roll to %d", f.Amount)
	case sim.Change:
		if f.Side.Empty() {
			return fmt.Sprintf("change %s cancels", who)
		}
		s := fmt.Sprintf("change %s to %v as %d", who, f.Side, f.Amount)
		if f.For > 0 {
			s += fmt.Sprintf(" within %v", f.For)
		}
		return s
	case sim.Leave:
		return fmt.Sprintf("leave %s within %v%s", who, amount, diskText(f))
	case sim.Transfer:
		return fmt.Sprintf("transfer %s to %s%s", who, memberText(f.B), groupText(f))
	case sim.Verify:
		s := fmt.Sprintf("verify %s%s", who, groupText(f))
		if amount > 0 {
			s += fmt.Sprintf(" for %v", amount)
		}
		return s
	}
	s := fmt.Sprintf("%v %s%s", f.Kind, who, groupText(f))
	if f.Kind == sim.Campaign && amount > 0 {
		s += fmt.Sprintf(" for %v", amount)
	}
	return s
}

func memberText(r protocol.Rank) string {
	switch r {
	case protocol.Nobody:
		return "*"
	case sim.TheLeader:
		return theLeader
	}
	return r.String()
}

func groupText(f *sim.Fault) string {
	if f.Group == "" {
		return ""
	}
	return " " + string(f.Group)
}

func diskText(f *sim.Fault) string {
	switch {
	case f.For == 0 && f.Kind != sim.Restart: // it does not come back
	case f.Disk == sim.Lost:
		return " without disk"
	case f.Disk == sim.Backup:
		return fmt.Sprintf(" from backup %d", max(1, f.Amount))
	case f.Disk == sim.Known:
		return fmt.Sprintf(" from known backup %d", max(1, f.Amount))
	case f.Disk == sim.Reboot:
		return " rebooted"
	}
	return ""
}
