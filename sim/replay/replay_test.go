package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/regentproject/regent/agent/web"
)

// stored reads the trace of testdata/split.txt: four members lose touch two by two, c crashes, and the rest meets again.
func stored(t testing.TB) *Recording {
	t.Helper()
	f, err := os.Open("testdata/split.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	recording, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return recording
}

// leaders shows who leads whom in a group.
func leaders(g *web.Group) string {
	var all []string
	for _, l := range g.Leaders {
		all = append(all, l.Member+" leads "+strings.Join(l.Support, " "))
	}
	return strings.Join(all, "; ")
}

func TestStoredTraceEndsAsTheSimulatorSaid(t *testing.T) {
	recording := stored(t)
	end := recording.State(recording.Steps())
	if got := leaders(&end.Groups[0]); got != "a leads a b d" {
		t.Errorf("at the end %s", got)
	}
	for _, m := range end.Members {
		want := web.Up
		if m.Name == "c" {
			want = web.Down
		}
		if m.State != want {
			t.Errorf("%s is %s", m.Name, m.State)
		}
	}
	apart := recording.State(recording.StepAt(990 * time.Millisecond))
	if got := leaders(&apart.Groups[0]); got != "a leads a b; d leads d" {
		t.Errorf("while they are cut apart %s", got)
	}
	for _, l := range apart.Links {
		crossing := strings.Contains("ab", l.From) != strings.Contains("ab", l.To)
		if crossing != (l.State == web.Cut) {
			t.Errorf("from %s to %s is %s", l.From, l.To, l.State)
		}
	}
	before := recording.State(0)
	if len(before.Members) != 4 || before.Members[0].State != web.Down || len(before.Log) > 0 || leaders(&before.Groups[0]) != "" {
		t.Errorf("before the first line there is %+v", before)
	}
}

func TestALineSaysTheSameWhenItIsReadAndWrittenAgain(t *testing.T) {
	recording := stored(t)
	for i := range recording.records {
		if again, err := recording.records[i].AppendJSON(nil); err != nil || string(again) != recording.lines[i] {
			t.Fatalf("line %d is %s\nand becomes %s, %v", i+1, recording.lines[i], again, err)
		}
	}
}

// Whoever goes back to a step sees what whoever comes to it for the first time saw, wherever states are kept.
func TestBackwardsIsForwards(t *testing.T) {
	recording := stored(t)
	for _, stride := range []int{7, 256} {
		recording.kept, recording.marks, recording.stride = nil, nil, 0
		w := recording.begin()
		for i := range recording.records {
			if i%stride == 0 {
				recording.kept = append(recording.kept, w.clone())
			}
			recording.apply(w, i)
		}
		recording.stride = stride
		var forwards []string
		w = recording.begin()
		for i := 0; ; i++ {
			forwards = append(forwards, text(t, w.state(recording.At(i))))
			if i == recording.Steps() {
				break
			}
			recording.apply(w, i)
		}
		for i := recording.Steps(); i >= 0; i-- {
			if got := text(t, recording.State(i)); got != forwards[i] {
				t.Fatalf("stride %d, step %d backwards:\n%s\nforwards:\n%s", stride, i, got, forwards[i])
			}
		}
	}
}

func text(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestReadRefusesWhatIsNoTrace(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"nothing":   {"", "the trace is empty"},
		"no JSON":   {"hello\n", "line 1 is not a line of a trace"},
		"a list":    {`{"t":0,"ev":"start","node":"a"}` + "\n[1]\n", "line 2 is not a line of a trace"},
		"no ev":     {`{"seed":7}` + "\n", `line 1 has no "ev"`},
		"backwards": {`{"t":5,"ev":"start","node":"a"}` + "\n" + `{"t":4,"ev":"crash","node":"a"}` + "\n", "line 2 is from 4ns"},
	} {
		if _, err := Read(strings.NewReader(c.in)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// trace makes a recording of lines.
func trace(t testing.TB, lines ...string) *Recording {
	t.Helper()
	recording, err := Read(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return recording
}

// The runs that somebody wants to look at are those that violate an invariant: nothing must hide that.
func TestTwoLeadersOfAQuorumGroupBothShow(t *testing.T) {
	recording := trace(t,
		`{"t":0,"node":"a","inc":1,"ev":"start"}`, `{"t":0,"node":"b","inc":1,"ev":"start"}`,
		`{"t":100,"node":"a","inc":1,"group":"red","dom":"quorum","ev":"lease","term":1,"tenure":1,"start":90,"until":900,"at":100,"members":["a","b"]}`,
		`{"t":500,"node":"b","inc":1,"group":"red","dom":"quorum","ev":"lease","term":2,"tenure":1,"start":1090,"until":1900,"at":1100,"members":["a","b"]}`)
	st := recording.State(recording.Steps())
	if got := leaders(&st.Groups[0]); got != "a leads a b; b leads a b" {
		t.Errorf("%s", got)
	}
	if len(st.Tenures) != 2 || st.Tenures[0].To != 0 || st.Tenures[1].From != 500 {
		t.Errorf("the timeline has %+v", st.Tenures)
	}
}

func TestALeaseEndsByTheClockOfItsHolder(t *testing.T) {
	recording := trace(t,
		`{"t":0,"node":"a","inc":1,"ev":"start"}`,
		`{"t":100,"node":"a","inc":1,"group":"red","dom":"quorum","ev":"lease","seq":7,"term":1,"tenure":1,"start":5090,"until":5900,"at":5100,"members":["a"]}`,
		`{"t":400,"node":"a","inc":1,"dom":"quorum","ev":"horizon","seq":7,"until":6100}`,
		`{"t":500,"node":"a","inc":1,"ev":"fault","why":"pause","detail":"pause a for 1s"}`,
		`{"t":2000,"node":"b","inc":1,"ev":"start"}`,
		`{"t":3000,"node":"a","inc":1,"ev":"heal","why":"pause","detail":"pause a for 1s"}`,
		`{"t":3000,"node":"a","inc":1,"group":"red","dom":"quorum","ev":"stepdown","term":1,"tenure":1,"until":6100,"at":8000,"why":"expired"}`)
	paused := recording.State(4)
	if l := paused.Groups[0].Leaders; len(l) != 1 || l[0].Until != 1100 || paused.Members[0].State != web.Paused {
		t.Errorf("while it is renewed: %+v, a is %s", l, paused.Members[0].State)
	}
	if st := recording.State(5); len(st.Groups[0].Leaders) != 0 || st.Tenures[0].To != 1100 {
		t.Errorf("after its end: %+v, %+v", st.Groups[0].Leaders, st.Tenures)
	}
	if st := recording.State(7); st.Tenures[0].To != 1100 || st.Tenures[0].Cause != "expired" || st.Members[0].State != web.Up {
		t.Errorf("after it was noticed: %+v", st.Tenures)
	}
}

func TestElectorsLeadAsFarAsTheyKnow(t *testing.T) {
	recording := trace(t,
		`{"t":0,"node":"a","inc":1,"ev":"start"}`, `{"t":0,"node":"b","inc":1,"ev":"start"}`,
		`{"t":1,"node":"a","inc":1,"dom":"elector","ev":"weak","peer":"a","peerinc":1}`,
		`{"t":2,"node":"b","inc":1,"dom":"elector","ev":"view","peer":"b","peerinc":1,"why":"started"}`,
		`{"t":3,"node":"b","inc":1,"dom":"elector","ev":"view","peer":"a","peerinc":1,"why":"returned a"}`,
		`{"t":4,"node":"a","inc":1,"ev":"crash"}`)
	for step, want := range map[int]string{3: "a leads ", 4: "a leads ; b leads ", 5: "a leads ", 6: ""} {
		st := recording.State(step)
		if got := leaders(&st.Groups[0]); got != want || st.Groups[0].Mode != web.Eventual {
			t.Errorf("after %d lines %q", step, got)
		}
	}
}

func TestFaultsAreReadFromTheirWords(t *testing.T) {
	for text, want := range map[string]string{
		"cut a b for 1s":                "ab",
		"cut * b for 12.7ms":            "ab cb",
		"slow b * by 60ms":              "ba bc",
		"lose * * 60%":                  "ab ac ba bc ca cb",
		"partition {a b c} for 23.3ms":  "",
		"partition {c} for 23.3ms":      "ac bc ca cb",
		"pause a for 1s":                "",
		"suspend a for 1.620926203s":    "",
		"crash a disk lost for 93.36ms": "",
	} {
		kind, _, _ := strings.Cut(text, " ")
		f := parseFault(kind, text)
		var got []string
		for _, from := range []string{"a", "b", "c"} {
			for _, to := range []string{"a", "b", "c"} {
				if from != to && !freezing[kind] && kind != "crash" && f.covers(from, to) {
					got = append(got, from+to)
				}
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s is about %v", text, got)
		}
	}
}

// position asks a player where it stands.
func position(p *Player) web.Playback { return *p.Since(0).Playback }

func TestPlayerPlaysBothWaysAtAnySpeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		recording := stored(t)
		p := NewPlayer("x", recording)
		done := make(chan struct{})
		go func() { p.Run(ctx); close(done) }()
		do := func(verb string, value float64) {
			t.Helper()
			if _, err := p.Do(ctx, web.Command{Verb: verb, Value: value}); err != nil {
				t.Fatal(err)
			}
		}
		do("play", 0.5)
		time.Sleep(time.Second)
		at := position(p)
		if at.At < 450*time.Millisecond || at.At > 510*time.Millisecond || at.Step != recording.StepAt(at.At) || at.Speed != 0.5 {
			t.Errorf("after a second at half speed it stands at %+v", at)
		}
		do("pause", 0)
		at = position(p)
		time.Sleep(time.Second)
		if now := position(p); now != at {
			t.Errorf("it was paused at %+v and stands at %+v", at, now)
		}
		do("play", 10)
		time.Sleep(time.Second)
		if at := position(p); at.Step != recording.Steps() || at.Speed != 0 || at.At != recording.End() {
			t.Errorf("it did not stop at the end, but stands at %+v", at)
		}
		do("play", -1)
		time.Sleep(time.Second)
		if at := position(p); at.At > recording.End()-900*time.Millisecond || at.At < recording.End()-1100*time.Millisecond || at.Speed != -1 {
			t.Errorf("after a second backwards it stands at %+v", at)
		}
		time.Sleep(time.Second)
		if at := position(p); at.Step != 0 || at.Speed != 0 {
			t.Errorf("it did not stop at the beginning, but stands at %+v", at)
		}
		cancel()
		<-done
	})
}

func TestPlayerShowsTheStateOfTheStepThatIsSought(t *testing.T) {
	recording := stored(t)
	p := NewPlayer("x", recording)
	for _, step := range []int{recording.Steps(), 100, 101, 100, 0} {
		if _, err := p.Do(t.Context(), web.Command{Verb: "seek", Value: float64(step)}); err != nil {
			t.Fatal(err)
		}
		u, want := p.Since(0), recording.State(step)
		if u.Playback.Step != step || !reflect.DeepEqual(u.Members, want.Members) || text(t, u.Groups) != text(t, want.Groups) {
			t.Errorf("step %d shows %s", step, text(t, u.Groups))
		}
	}
	for _, c := range []web.Command{{Verb: "seek", Value: -1}, {Verb: "seek", Value: 1e9}, {Verb: "play"}, {Verb: "play", Value: 1e9}, {Verb: "crash"}} {
		if _, err := p.Do(t.Context(), c); err == nil {
			t.Errorf("%+v was obeyed", c)
		}
	}
}

func TestPlayerTakesAnotherRecording(t *testing.T) {
	p := NewPlayer("x", stored(t))
	if err := p.Load("/some/where/y.jsonl", strings.NewReader("hello")); err == nil || p.Since(0).About.Title != "replay of x" {
		t.Errorf("a file that is no trace was taken: %v", err)
	}
	if err := p.Load("/some/where/y.jsonl", strings.NewReader(`{"t":9,"ev":"start","node":"q"}`)); err != nil {
		t.Fatal(err)
	}
	if u := p.Since(0); u.About.Title != "replay of y.jsonl" || len(u.Members) != 1 || u.Playback.Steps != 1 || u.Playback.Step != 0 {
		t.Errorf("it shows %+v", u)
	}
}

// A seek in a long run is quick enough to play backwards: a frame is 40 ms.
func BenchmarkSeekBackwards(b *testing.B) {
	var lines strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&lines, `{"t":%d,"node":"%c","inc":1,"dom":"quorum","ev":"promise","peer":"a"}`+"\n", i, 'a'+i%5)
	}
	recording, err := Read(strings.NewReader(lines.String()))
	if err != nil {
		b.Fatal(err)
	}
	step := recording.Steps()
	for b.Loop() {
		if step--; step < 0 {
			step = recording.Steps()
		}
		recording.State(step)
	}
}
