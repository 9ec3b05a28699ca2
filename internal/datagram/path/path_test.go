package path

import (
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

const ms = time.Millisecond

func at(d time.Duration) protocol.Time { return protocol.Time(d) }

func TestStrangersAreReachedByAllPaths(t *testing.T) {
	var c Choice
	if _, all := c.Pick(at(ms), 2, 10*ms); !all {
		t.Error("nothing is proven, and one path is taken")
	}
	if p, all := c.Pick(at(ms), 1, 10*ms); all || p != 0 {
		t.Error("there is only one path")
	}
}

func TestTheProvenPathIsTakenWhileTheProofIsRecent(t *testing.T) {
	var c Choice
	c.Prove(&Heard{Path: 1, Sent: at(100 * ms)})
	if p, all := c.Pick(at(110*ms), 3, 10*ms); all || p != 1 {
		t.Errorf("got %d, all %v", p, all)
	}
	if _, all := c.Pick(at(110*ms)+1, 3, 10*ms); !all {
		t.Error("an old proof counts")
	}
	c.Prove(&Heard{Path: 2, Sent: at(50 * ms)}) // overtaken
	if p, _ := c.Best(); p != 1 {
		t.Errorf("an older proof replaced a newer one: %d", p)
	}
	c.Prove(&Heard{Path: 2, Sent: at(120 * ms)})
	if p, all := c.Pick(at(121*ms), 3, 10*ms); all || p != 2 {
		t.Errorf("got %d, all %v", p, all)
	}
	if _, all := c.Pick(at(121*ms), 2, 10*ms); !all {
		t.Error("a path that is no longer there is taken")
	}
	c.Prove(&Heard{Path: Max, Sent: at(900 * ms)})
	c.Reset()
	if _, all := c.Pick(at(122*ms), 3, 10*ms); !all {
		t.Error("what was proven of other addresses counts")
	}
}

func TestAllPathsAreTriedNowAndThen(t *testing.T) {
	var c Choice
	tried := 0
	for i := range 10 * Explore {
		now := at(time.Duration(i+1) * ms)
		c.Prove(&Heard{Path: 0, Sent: now})
		if _, all := c.Pick(now, 2, 10*ms); all {
			tried++
		}
	}
	if tried != 10 {
		t.Errorf("%d times in %d", tried, 10*Explore)
	}
}

func TestTheFasterPathIsNamed(t *testing.T) {
	var y Tally
	if _, ok := y.Best(10 * ms); ok {
		t.Error("nothing came, and a path is named")
	}
	y.Note(0, at(100*ms), 4*ms)
	y.Note(1, at(101*ms), 1*ms)
	y.Note(Max, at(200*ms), 0)
	if h, ok := y.Best(10 * ms); !ok || h.Path != 1 || h.Sent != at(101*ms) {
		t.Errorf("got %+v", h)
	}
	y.Note(0, at(120*ms), 4*ms) // nothing has come by path 1 for a while
	if h, _ := y.Best(10 * ms); h.Path != 0 {
		t.Errorf("a path that is silent is named: %+v", h)
	}
	y.Note(1, at(119*ms), 4*ms)
	y.Note(1, at(121*ms), 4*ms)
	for i := range 20 {
		y.Note(0, at(time.Duration(122+i)*ms), 4*ms)
		y.Note(1, at(time.Duration(122+i)*ms), 4*ms-ms/4)
	}
	if h, _ := y.Best(10 * ms); h.Path != 0 {
		t.Errorf("a path that is hardly faster is preferred: %+v", h)
	}
}

func TestMessage(t *testing.T) {
	m := &Heard{Path: 1, Sent: 7}
	c := m.Copy().(*Heard)
	if *c != *m || c == m || m.Name() != "path.Heard" {
		t.Errorf("copy %+v, name %s", c, m.Name())
	}
	var none Choice
	one := Choice{best: 1, proven: 1}
	if none.String() != "all" || one.String() != "1" {
		t.Error("a choice does not show what it is")
	}
}
