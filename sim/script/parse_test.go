package script_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regentproject/regent/sim/script"
)

// begin is a script up to its first statement, in two lines.
const begin = "protocol rank\nmembers 5\n"

func TestErrorsSayWhereAndWhatWouldBeRight(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		// Settings.
		{"protocol", "x:1:9: the line ends here: the name of a protocol is missing"},
		{"protocol rank fast=yes", `x:1:15: "fast=yes": rank has no such option; it has period, timeout, grow, cap`},
		{"protocol rank period=1s", "x:1:15: rank: time-out 120ms: must exceed the period 1s"},
		{"protocol datagram x=1", `x:1:19: "x=1": datagram has no options`},
		{"members 0", `x:1:9: "0": expected how many members, from 1 to 1000`},
		{"members five", `x:1:9: "five": expected how many members, from 1 to 1000`},
		{"members 3\nmembers 3", "x:2:1: members is set already"},
		{"seed 1 2", `x:1:8: "2": nothing more is expected on this line`},
		{"run 1s", `x:1:1: "run": say first which protocol the members run, such as: protocol rank`},
		{"protocol rank\nrun 1s", `x:2:1: "run": say how many members there are first, such as: members 3`},
		{"protocol rank\nlinks a->b loss 1%", `x:2:7: "a": say how many members there are first, such as: members 3`},
		{begin + "run 1s\nseed 4", "x:4:1: seed is a setting: it belongs before the first statement that does something"},
		{begin + "links", "x:3:6: the line ends here: delay, loss, duplicate, fifo or reliable is missing"},
		{begin + "links a->b delay 5ms..1ms", `x:3:18: "5ms..1ms": the second length must not be below the first`},
		{begin + "links delay 1ms tail 1%", `x:3:24: the line ends here: "of" is missing`},
		{begin + "links leader->b fifo", `x:3:7: "leader": expected delay, loss, duplicate, fifo or reliable`},
		{begin + "clock a goes backwards", `x:3:9: "goes": expected rate or shows`},
		{begin + "clock a rate 5%", `x:3:14: "5%": expected a rate between -1000000ppm and +4000000ppm, such as +200ppm or -50ppb`},
		{begin + "clock a rate -1000001ppm", "x:3:14:"},
		{begin + "clock a rate 9223372036854775807ppm", "x:3:14:"},
		{begin + "programs dance", `x:3:10: "dance": expected act, stop, stubborn or again`},
		{begin + "bounds none", `x:3:8: "none": expected slack or unknown`},
		{begin + "timers early 1s", `x:3:8: "early": expected late or twice`},
		{"ports", "x:1:1: ports: say first which protocol the members run, such as: protocol rank"},
		{begin + "ports\nhold rank.OK a->b", "x:4:1: messages travel as packets in this script, which cannot be distinguished: leave out ports"},
		{begin + "varied", "x:3:1: varied: rank, as it is set up, has no variants that random runs draw: leave this out"},
		{begin + "groups a a", `x:3:10: "a": expected the name of a group, each once`},
		{begin + "groups x without", `x:3:17: the line ends here: "candidates" is missing`},
		// Members and links.
		{begin + "crash f", `x:3:7: "f": no such member; members are a to e`},
		{begin + "crash {a f}", `x:3:10: "f": no such member; members are a to e`},
		{begin + "crash {a", "x:3:9: the line ends here: } is missing"},
		{begin + "crash {}", "x:3:7: {}: at least one member is needed here"},
		{begin + "crash", "x:3:6: the line ends here: a member, a set such as {a b}, or * is missing"},
		{begin + "crash a,b", `x:3:7: "a,b": no such member; members are a to e (write several as {a b}, and all as *)`},
		{begin + "crash all", `x:3:7: "all": no such member; members are a to e (write several as {a b}, and all as *)`},
		{begin + "groups x\ncampaign a b", `x:4:12: "b": no such group, but a member: write several members as {a b}`},
		{begin + "cut a->", "x:3:8: the line ends here: a member, a set such as {a b}, or * is missing"},
		{begin + "cut ->b", `x:3:5: "->": expected a member, a set such as {a b}, or *`},
		{begin + "heal leader", "x:3:6: name the member: the leader may be another one when this takes effect"},
		// Faults and commands.
		{begin + "crash a for", "x:3:12: the line ends here: how long is missing"},
		{begin + "crash a for 0s", `x:3:13: "0s": must be more than zero`},
		{begin + "crash a for -1s", `x:3:13: "-1s": a length of time must not be negative`},
		{begin + "crash a without disk", "x:3:9: say for how long it is down, or say this when it restarts"},
		{begin + "restart a from backup 0", `x:3:23: "0": expected how many records ago, from 1 to 1000`},
		{begin + "slow a b", `x:3:9: the line ends here: "by" is missing`},
		{begin + "lose a b 101%", `x:3:10: "101%": expected a percentage from 0% to 100%`},
		{begin + "lose a b NaN%", `x:3:10: "NaN%": expected a percentage from 0% to 100%`},
		{begin + "campaign a for long", `x:3:16: "long": expected a length of time, such as 1.5s, 200ms or 50us`},
		{begin + "transfer a b", `x:3:12: "b": expected "to"`},
		{begin + "campaign a billing", `x:3:12: "billing": no such group; name groups at the beginning, such as: groups billing`},
		{begin + "groups x y\ncampaign a", "x:4:11: the line ends here: a group is missing; there are x, y"},
		{begin + "run 1s\nclock a limps", `x:4:9: "limps": expected rate, jumps, stops or runs`},
		{begin + "disk a fast", `x:3:8: "fast": expected "slow"`},
		{begin + "leave a", `x:3:8: the line ends here: "within" is missing`},
		// Time and expectations.
		{begin + "run", "x:3:4: the line ends here: how long to run, or until is missing"},
		{begin + "run 1s until", `x:3:8: "until": nothing more is expected on this line`},
		{begin + "run until", "x:3:10: the line ends here: a condition, such as: a leads"},
		{begin + "run until a", "x:3:12: the line ends here: leads, follows, agree, has no leader, is or states is missing"},
		{begin + "expect nobody agrees", `x:3:15: "agrees": expected "leads"`},
		{begin + "expect a is odd", `x:3:13: "odd": expected up, down or frozen`},
		{begin + "expect a leads by force", `x:3:19: "force": expected elector, quorum, local or consistent`},
		{begin + "groups x y\nexpect a leads", "x:4:15: say in which group, such as: in x"},
		{begin + "expect violation", "x:3:17: the line ends here: the name of an invariant is missing"},
		{begin + "at 1s run 1s", `x:3:7: "run": only what goes wrong, commands and rules for messages can be postponed`},
		{begin + "at 1s members 3", "x:3:7: members is a setting: it belongs before the first statement that does something"},
		{begin + "at crash a", `x:3:4: "crash": expected a length of time, such as 1.5s, 200ms or 50us`},
		{begin + "show me", `x:3:6: "me": expected views, held, clocks or members`},
		{begin + "watch tv", `x:3:7: "tv": expected views, facts, messages or nothing`},
		// Messages.
		{begin + "hold rank.Ok a->b", `x:3:6: "rank.Ok": no such message; did you mean "rank.OK"?`},
		{begin + "hold next 0 rank.OK a->b", `x:3:11: "0": expected how many, from 1 to 2147483647`},
		{begin + "delay rank.OK a->b", `x:3:19: the line ends here: "by" is missing`},
		{begin + "deliver rank.OK leader->b", "x:3:17: name the member: the leader may be another one when this takes effect"},
		// Lines.
		{begin + "----", "x:3:1: ---- without a statement above it that prints something, such as run 1s"},
		{begin + "crahs a", `x:3:1: "crahs": no such statement; did you mean "crash"?`},
		{begin + "run 1s  # fine\n  crash f", `x:4:9: "f"`},
		{begin + "expect ü", `x:3:8: "ü": expected a condition`},
		{begin + "cut a->b ü x", `x:3:10: "ü": nothing more`},
		{"", "x:1:1: nothing happens in this script"},
		{"protocol rank\n\xff\n", "x:2:1: not UTF-8: a script is plain text"},
	} {
		_, err := script.Parse("x", []byte(c.text))
		if err == nil {
			t.Errorf("%q: no error, want %q", c.text, c.want)
			continue
		}
		if first, _, _ := strings.Cut(err.Error(), "\n"); !strings.HasPrefix(first, c.want) {
			t.Errorf("%q:\n got %s\nwant %s", c.text, first, c.want)
		}
	}
}

func TestAllErrorsAreToldButNotMoreThanTen(t *testing.T) {
	_, err := script.Parse("x", []byte(begin+strings.Repeat("crash z\n", 20)))
	var all script.Errors
	if !errors.As(err, &all) || len(all) != 10 {
		t.Fatalf("got %v, want ten errors", err)
	}
	for i, e := range all {
		if e.Line != i+3 || e.Col != 7 {
			t.Errorf("error %d is at %d:%d, want %d:7", i, e.Line, e.Col, i+3)
		}
	}
}

func TestAScriptKnowsItsTitleAndItsParagraphs(t *testing.T) {
	s, err := script.Parse("x", []byte("# One\n#  two.\n#\n# Three.\nprotocol rank\nmembers 3 # three\n\nrun 1s\n----\na\n b\n\n\ncrash a # now\nrun 2s\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Title != "One two." || s.Members != 3 || len(s.Paragraphs) != 2 {
		t.Errorf("title %q, %d members, %d paragraphs", s.Title, s.Members, len(s.Paragraphs))
	}
	if p := s.Paragraphs[0]; !p.Checked || strings.Join(p.Want, "|") != "a| b" {
		t.Errorf("the first paragraph expects %q", p.Want)
	}
	if p := s.Paragraphs[1]; p.Checked || len(p.Steps) != 2 || p.Steps[0].Text != "crash a" || p.Steps[0].Line != 14 {
		t.Errorf("the second paragraph is %+v", p)
	}
}

func TestEveryStatementHasAUsage(t *testing.T) {
	for _, u := range script.Usage() {
		if u == "" || strings.TrimSpace(u) != u {
			t.Errorf("usage %q", u)
		}
	}
	if n := len(script.Usage()); n < 45 {
		t.Errorf("%d forms of statements, want all of them", n)
	}
}

func FuzzParse(f *testing.F) {
	scenarios, err := filepath.Glob("testdata/*/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, scenario := range scenarios {
		text, err := os.ReadFile(scenario)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, u := range script.Usage() {
		f.Add(begin + u + "\n----\nx\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := script.Parse("x", []byte(text))
		lines := strings.Split(text, "\n")
		if err == nil {
			if s.Members == 0 || s.Protocol == "" || len(s.Paragraphs) == 0 {
				t.Errorf("accepted without members, protocol or statements")
			}
			again, err := script.Parse("x", s.Rewrite(&script.Result{}))
			if err != nil || len(again.Paragraphs) != len(s.Paragraphs) {
				t.Errorf("a rewritten script is another one: %v", err)
			}
			return
		}
		var all script.Errors
		if !errors.As(err, &all) || len(all) == 0 {
			t.Fatalf("error of type %T", err)
		}
		for _, e := range all {
			if e.Line < 1 || e.Line > len(lines) || e.Col < 1 || e.Col > len(lines[e.Line-1])+1 || e.Msg == "" {
				t.Errorf("error at %d:%d, which is not in the script: %v", e.Line, e.Col, e)
			}
		}
	})
}
