package fault

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func random() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func TestPerfectLinkDeliversOnceAtOnce(t *testing.T) {
	p, turn := Link{}.Plan(random(), 0)
	if p != (Plan{Copies: 1}) || turn != 0 || !(Link{}).Immediate() {
		t.Errorf("plan %+v, turn %v", p, turn)
	}
}

func TestCutLinkDeliversNothing(t *testing.T) {
	if p, turn := (Link{Cut: true, Delay: 5}).Plan(random(), 3); p.Copies != 0 || turn != 3 {
		t.Errorf("plan %+v, turn %v", p, turn)
	}
}

// Delays lie between Delay and Delay+Jitter, and nothing overtakes unless it is asked for.
func TestDelaysKeepOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Link{Delay: time.Duration(rapid.IntRange(0, 1000).Draw(t, "delay")), Jitter: time.Duration(rapid.IntRange(0, 1000).Draw(t, "jitter")),
			Duplicate: rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "duplicate")}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var now, last, turn time.Duration
		for range 50 {
			gap := time.Duration(rapid.IntRange(0, 500).Draw(t, "gap"))
			now, turn = now+gap, max(0, turn-gap)
			var p Plan
			before := turn
			p, turn = l.Plan(r, turn)
			for _, d := range p.Delays[:p.Copies] {
				if d < l.Delay || d > max(l.Delay+l.Jitter, before) {
					t.Fatalf("delay %v of %v with %v before it", d, l, before)
				}
				if now+d < last {
					t.Fatalf("arrives at %v, after one at %v", now+d, last)
				}
				last = now + d
			}
		}
	})
}

func TestSharesAreKept(t *testing.T) {
	const n = 20_000
	r := random()
	count := func(l Link) (arrived, doubled, overtaken int) {
		var latest, now time.Duration
		for range n {
			now += time.Microsecond
			p, _ := l.Plan(r, 0)
			arrived += p.Copies
			doubled += max(0, p.Copies-1)
			for _, d := range p.Delays[:p.Copies] {
				if now+d < latest {
					overtaken++
				}
				latest = max(latest, now+d)
			}
		}
		return arrived, doubled, overtaken
	}
	within := func(what string, got, want int) {
		t.Helper()
		if got < want*9/10 || got > want*11/10 {
			t.Errorf("%s: %d, want about %d", what, got, want)
		}
	}
	arrived, doubled, overtaken := count(Link{Drop: 0.25})
	within("arrived", arrived, n*3/4)
	if doubled != 0 || overtaken != 0 {
		t.Errorf("loss alone: %d came twice, %d were overtaken", doubled, overtaken)
	}
	_, doubled, _ = count(Link{Duplicate: 0.5})
	within("came twice", doubled, n/2)
	if _, doubled, overtaken = count(Link{Duplicate: 0.1, Late: time.Second}); overtaken < n/2 {
		t.Errorf("%d came twice, too late, and only %d were overtaken", doubled, overtaken)
	}
	if _, _, overtaken = count(Link{Reorder: 0.1, Delay: time.Millisecond}); overtaken < n/2 {
		t.Errorf("only %d were overtaken", overtaken)
	}
}

func TestLinkHasATextForm(t *testing.T) {
	l := Link{Delay: 5 * time.Millisecond, Jitter: time.Millisecond, Drop: 0.25, Duplicate: 0.5, Late: time.Minute, Reorder: 0.125, Cut: true}
	got, err := Link{}.Set(strings.Fields(l.String())...)
	if err != nil || got != l {
		t.Errorf("%v came back as %v, %v", l, got, err)
	}
	if got, err := l.Set("drop=0", "cut=false"); err != nil || got.Drop != 0 || got.Cut || got.Delay != l.Delay {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := l.Set(Link{}.String()); err != nil || got != (Link{}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"delay=5", "delay=-1s", "drop=2", "drop=NaN", "jitter=2h", "speed=9", "cut=maybe", "delay"} {
		if got, err := (Link{}).Set(bad); err == nil {
			t.Errorf("%q is taken for %v", bad, got)
		}
	}
}

func FuzzLinkSet(f *testing.F) {
	f.Add("delay=5ms jitter=1ms drop=0.1")
	f.Add("perfect cut=true reorder=1e-3")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Link{}.Set(strings.Fields(text)...)
		if err != nil {
			return
		}
		if again, err := (Link{}).Set(strings.Fields(l.String())...); err != nil || again != l {
			t.Fatalf("%q is %v, then %v, %v", text, l, again, err)
		}
		l.Plan(random(), 0)
	})
}
