package demo

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/agent/cluster"
	"github.com/regentproject/regent/agent/web"
)

// empty returns a demonstration of which no process runs. Member a leads the first group, as far as the demonstration knows.
func empty(f *testing.F) *demonstration {
	f.Helper()
	names := []string{"a", "b", "c"}
	c, err := cluster.New(cluster.Options{Names: names, Dir: f.TempDir(), Hosts: cluster.Memory, Groups: Groups})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = c.Close() })
	s := &demonstration{cluster: c, model: newModel(names, Groups...)}
	s.model.apply(&cluster.Event{Member: "a", What: cluster.Leads, Group: Groups[0].Name, Mode: regent.Quorum, Token: 1}, func(cluster.Time) time.Duration { return 0 })
	return s
}

// FuzzCommand looks for lines that make a demonstration crash, or that do something to a member that there is not.
func FuzzCommand(f *testing.F) {
	s := empty(f)
	for _, v := range verbs {
		f.Add(v.verb + " b\n")
		f.Add(v.verb + " leader")
		f.Add(v.verb)
	}
	f.Add("crash nobody")
	f.Add("  \t")
	f.Fuzz(func(t *testing.T, line string) {
		c := parse(line)
		text, err := c.run(s)
		switch {
		case (text == "") != (err != nil || strings.TrimSpace(line) == ""):
			t.Fatalf("%q: did %q, %v", line, text, err)
		case text != "" && !slices.Contains(s.cluster.Names, c.member):
			t.Fatalf("%q: did %q to %q", line, text, c.member)
		}
	})
}

// FuzzPage looks for commands of a page that make a demonstration crash, or that do something to a member that there is not.
func FuzzPage(f *testing.F) {
	s := empty(f)
	for _, verb := range []string{"crash", "start", "pause", "resume", "cut", "slow", "heal", "part", "mend", "add", "remove", "cancel", "resign", "transfer", "link-cut", "link-slow", "link-heal", "link-crash"} {
		f.Add([]byte(`{"verb":"` + verb + `","members":["a","b"],"to":"c","group":"billing"}`))
	}
	f.Add([]byte(`{"verb":"resign","group":"cache","mode":"local"}`))
	f.Add([]byte(`{"verb":"transfer","to":"nobody"}`))
	f.Add([]byte(`{"verb":"link-cut","members":["a"]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var c web.Command
		if json.Unmarshal(body, &c) != nil {
			return
		}
		text, err := s.perform(c)
		if (text == "") == (err == nil) {
			t.Fatalf("%+v: did %q, %v", c, text, err)
		}
		if stranger := func(n string) bool { return !slices.Contains(s.cluster.Names, n) }; err == nil && slices.ContainsFunc(c.Members, stranger) {
			t.Fatalf("%+v: did %q", c, text)
		}
	})
}

// FuzzKeys looks for keys that make a demonstration crash, or that choose a member that there is not.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("1c2s3p9r\x01x\x02d\x1b["), uint8(3))
	f.Add([]byte("htgq\x03\x04"), uint8(9))
	f.Fuzz(func(t *testing.T, typed []byte, members uint8) {
		n := 1 + int(members)%maxMembers
		var names []string
		for i := range n {
			names = append(names, string(rune('a'+i)))
		}
		m := newModel(names, Groups...)
		for _, b := range typed {
			key := string(b)
			if named := []string{"ctrl+c", "up", "down", "ctrl+d", "esc"}; int(b) < len(named) {
				key = named[b]
			}
			c, _ := keyCommand(key)
			c.choose(m)
			chosen := c.verb != "" && c.verb != "add" && c.verb != "cancel"
			if m.chosen < 0 || m.chosen >= n || chosen && c.member != names[m.chosen] {
				t.Fatalf("of %d members %d is chosen by %+v", n, m.chosen, c)
			}
		}
	})
}
