package agent

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/demo"
	"github.com/regentproject/regent/internal/session"
)

// A surface is where users meet groups: whether it offers those of a mode is asked of the code.
type surface struct {
	name   string
	offers func(regent.Mode) bool
	// how says how groups of a mode are used there, and why why there are none.
	how, why map[regent.Mode]string
}

var allModes = []regent.Mode{regent.Quorum, regent.Local, regent.Eventual, regent.Consistent}

// makerOf is the method that returns groups of a mode.
var makerOf = map[regent.Mode]string{regent.Quorum: "Group", regent.Local: "LocalGroup", regent.Eventual: "EventualGroup", regent.Consistent: "ConsistentGroup"}

func makes[T any](m regent.Mode) bool {
	_, ok := reflect.TypeFor[T]().MethodByName(makerOf[m])
	return ok
}

func shown(m regent.Mode) bool {
	return slices.ContainsFunc(demo.Groups, func(g cluster.Group) bool { return g.Mode == m })
}

func campaigns(m regent.Mode) bool { return session.CheckMode(m) == nil }

// unattended says whether programs that cannot report a recovery campaign.
func unattended(m regent.Mode) bool { return session.CheckUnattended(m) == nil }

var surfaces = []surface{
	{"library, `Join`", makes[*regent.Member], map[regent.Mode]string{
		regent.Quorum: "`Member.Group`: lead", regent.Local: "`Member.LocalGroup`: lead", regent.Eventual: "`Member.EventualGroup`: view and watch",
		regent.Consistent: "`Member.ConsistentGroup`: take part, recover"}, nil},
	{"library, `Dial`", makes[*regent.Client], map[regent.Mode]string{
		regent.Quorum: "`Client.Group`: lead", regent.Local: "`Client.LocalGroup`: lead", regent.Eventual: "`Client.EventualGroup`: view and watch",
		regent.Consistent: "`Client.ConsistentGroup`: take part, recover"}, nil},
	{"unix socket", campaigns, map[regent.Mode]string{
		regent.Quorum: "`campaign`", regent.Local: "`campaign` with `mode`", regent.Eventual: "`campaign` with `mode`",
		regent.Consistent: "`campaign` with `mode`, `recovered`"}, nil},
	{"HTTP", unattended, map[regent.Mode]string{
		regent.Quorum: "`POST …/campaign`", regent.Local: "`POST …/campaign` with `mode`", regent.Eventual: "`POST …/campaign` with `mode`"},
		map[regent.Mode]string{regent.Consistent: "views only: a client has no way to report a recovery"}},
	{"`regent run`", unattended, map[regent.Mode]string{
		regent.Quorum: "by default", regent.Local: "`--mode local`", regent.Eventual: "`--mode eventual`"},
		map[regent.Mode]string{regent.Consistent: "no: members take part all at once, and a command has no way to report a recovery"}},
	{"`regent demo`", shown, map[regent.Mode]string{
		regent.Quorum: "shown", regent.Local: "shown", regent.Eventual: "shown", regent.Consistent: "shown"}, nil},
}

// surfacesTable is the table of docs/modes.md.
func surfacesTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| |")
	for _, m := range allModes {
		fmt.Fprintf(&b, " %s |", m)
	}
	b.WriteString("\n|---|---|---|---|---|\n")
	for _, s := range surfaces {
		fmt.Fprintf(&b, "| %s |", s.name)
		for _, m := range allModes {
			text := s.why[m]
			if s.offers(m) {
				text = s.how[m]
			}
			if text == "" {
				t.Errorf("%s: offers %s groups is %v, and the table has no text for that", s.name, m, s.offers(m))
			}
			fmt.Fprintf(&b, " %s |", text)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// The page says where groups of each mode can be used, as the code offers them.
func TestModesPageIsWhatTheSurfacesOffer(t *testing.T) {
	const page, begin, end = "../docs/modes.md", "<!-- surfaces -->\n", "<!-- end -->\n"
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(b), begin)
	old, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no table between its marks", page)
	}
	table := surfacesTable(t)
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != table {
		t.Errorf("%s does not have the table of the surfaces: run go test ./agent -run ModesPage -update, and read the difference. Want:\n%s", page, table)
	}
}
