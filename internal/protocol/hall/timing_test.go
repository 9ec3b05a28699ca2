package hall_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol/hall"
)

func TestProfilesSatisfyEveryConstraint(t *testing.T) {
	for name, p := range map[string]hall.Timing{"lan": hall.LAN, "fast": hall.Fast, "wan": hall.WAN} {
		if err := p.Check(2); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for deltas := 2; deltas <= 12; deltas++ {
			fitted := p.Fit(deltas)
			if err := fitted.Check(deltas); err != nil {
				t.Errorf("%s, fitted to rounds of %d: %v", name, deltas, err)
			}
		}
	}
}

func TestKappaOfTheProfiles(t *testing.T) {
	for _, c := range []struct {
		timing hall.Timing
		want   time.Duration
	}{{hall.LAN, 452 * time.Millisecond}, {hall.Fast, 76400 * time.Microsecond}, {hall.WAN, 2425 * time.Millisecond}} {
		cfg := hall.Default(0, 3, 1, c.timing)
		if k := cfg.Kappa(); k > c.want || k < c.want-2*time.Millisecond {
			t.Errorf("κ is %v, want about %v", k, c.want)
		}
	}
}

func TestConstantsAreShownWithKappa(t *testing.T) {
	cfg := hall.Default(0, 3, 1, hall.LAN)
	for _, want := range []string{"Δ 10ms", "lock 100ms", "a lease lasts 99.8", "κ is 451.4"} {
		if s := cfg.String(); !strings.Contains(s, want) {
			t.Errorf("%q does not say %q", s, want)
		}
	}
}

// TestEachConstraintIsHeldAndItsAdviceHelps breaks one constraint at a time. The value that the error names must be enough.
func TestEachConstraintIsHeldAndItsAdviceHelps(t *testing.T) {
	for _, c := range []struct {
		name    string
		breakIt func(*hall.Timing)
		follow  func(*hall.Timing, time.Duration)
	}{
		{"C1", func(t *hall.Timing) { t.Lock = 30 * time.Millisecond }, func(t *hall.Timing, d time.Duration) { t.Lock = d }},
		{"C2", func(t *hall.Timing) { t.Period = 120 * time.Millisecond }, func(t *hall.Timing, d time.Duration) { t.Period = d }},
		{"C3", func(t *hall.Timing) { t.Period = 49 * time.Millisecond }, func(t *hall.Timing, d time.Duration) { t.Period = d }},
		{"C4", func(t *hall.Timing) { t.Renew = 60 * time.Millisecond }, func(t *hall.Timing, d time.Duration) { t.Lock = d }},
		{"C5", func(t *hall.Timing) { t.Expires = 261 * time.Millisecond }, func(t *hall.Timing, d time.Duration) { t.Expires = d }},
		{"C8", func(t *hall.Timing) { t.OneWay = 4 * time.Millisecond }, func(t *hall.Timing, d time.Duration) { t.Delta = d }},
	} {
		timing := hall.LAN
		c.breakIt(&timing)
		err := timing.Check(2)
		var b *hall.Broken
		if !errors.As(err, &b) || b.Name != c.name {
			t.Errorf("%s: got %v", c.name, err)
			continue
		}
		words := strings.Fields(b.Do)
		if len(words) < 4 || !strings.Contains(b.Rule, "=") && !strings.Contains(b.Rule, ">") || !strings.Contains(b.Numbers, " against ") {
			t.Errorf("%s: says too little: %v", c.name, err)
			continue
		}
		value, perr := time.ParseDuration(words[len(words)-3])
		if perr != nil {
			t.Errorf("%s: no value in %q", c.name, b.Do)
			continue
		}
		c.follow(&timing, value)
		if err := timing.Check(2); errors.As(err, &b) && b.Name == c.name {
			t.Errorf("%s: the advice does not help: %v", c.name, err)
		}
	}
}

// TestTheMeasuredSettingOfThePaperIsRefused is E-H3. The paper measured with Δ = 15, σ = 30, EP = 50: by its text the lock is then
// about 5 ms, by its figure about 35 ms, and its own lower bound is 60 ms.
func TestTheMeasuredSettingOfThePaperIsRefused(t *testing.T) {
	paper := hall.Timing{Rho: 100_000, Delta: 15 * time.Millisecond, OneWay: 7 * time.Millisecond, Sched: 30 * time.Millisecond,
		Period: 50 * time.Millisecond, Expires: 230 * time.Millisecond}
	for _, lock := range []time.Duration{5 * time.Millisecond, 35 * time.Millisecond, 60 * time.Millisecond} {
		p := paper
		p.Lock = lock
		var b *hall.Broken
		if err := p.Check(2); !errors.As(err, &b) || b.Name != "C1" {
			t.Errorf("lock %v: %v, want C1 to be broken", lock, err)
		}
	}
	paper.Lock = 91 * time.Millisecond
	var b *hall.Broken
	if err := paper.Check(2); !errors.As(err, &b) || b.Name != "C3" || !strings.Contains(err.Error(), "105ms") {
		t.Errorf("a lock that is long enough: %v, want C3 with a period of at least 105ms", err)
	}
}

// TestTheLockOfFig31IsTooLong is E-H2: the figure forgets σ.
func TestTheLockOfFig31IsTooLong(t *testing.T) {
	p := hall.LAN
	p.Lock += p.Sched
	var b *hall.Broken
	if err := p.Check(2); !errors.As(err, &b) || b.Name != "C2" {
		t.Errorf("a lock that is longer by σ: %v, want C2 to be broken", err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for want, change := range map[string]func(*hall.Config){
		"0 members":     func(c *hall.Config) { c.Members = 0 },
		"member 3":      func(c *hall.Config) { c.Self = 3 },
		"4 supporters":  func(c *hall.Config) { c.Supporters = 4 },
		"arity 1":       func(c *hall.Config) { c.Arity = 1 },
		"rotate -1":     func(c *hall.Config) { c.Rotate = -1 },
		"turns of 47":   func(c *hall.Config) { c.Rotate, c.Calm = 47, 759*time.Millisecond },
		"calm -1ns":     func(c *hall.Config) { c.Calm = -1 },
		"one way 0s":    func(c *hall.Config) { c.OneWay = 0 },
		"least delay":   func(c *hall.Config) { c.MinDelay = time.Second },
		"delta 0s":      func(c *hall.Config) { c.Delta = 0 },
		"rho":           func(c *hall.Config) { c.Rho = -1 },
		"C1 is broken":  func(c *hall.Config) { c.Arity = 2; c.Members = 1000 },
		"C5 is broken:": func(c *hall.Config) { c.Losses = 2 },
	} {
		c := hall.Default(0, 3, 1, hall.LAN)
		change(&c)
		if _, err := hall.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one that says %q", err, want)
		}
	}
}

// TestKappaGrowsWithTheDepthOfTheTree compares κ with its closed form, which docs/hall.md has.
func TestKappaGrowsWithTheDepthOfTheTree(t *testing.T) {
	for depth, members := range map[int]int{2: 7, 3: 15, 4: 31, 5: 63} {
		c := hall.Default(0, members, 1, hall.LAN)
		c.Arity = 2
		c.Timing = c.Timing.Fit(c.Window())
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		want := time.Duration(8*(depth+2)-3)*c.Delta + 26*c.Sched + 3*c.Renew
		if is := c.Kappa(); is < want || is > want+want/50 {
			t.Errorf("depth %d: κ is %v, want %v and at most a fiftieth more", depth, is, want)
		}
	}
}
