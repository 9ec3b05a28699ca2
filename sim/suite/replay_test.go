package suite_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/sim"
	"github.com/regentproject/regent/sim/effort"
	"github.com/regentproject/regent/sim/fuzz"
	"github.com/regentproject/regent/sim/suite"
)

// replaySeeds is how many seeds of each protocol are played twice.
func replaySeeds() uint64 { return effort.Pick[uint64](1, 1, 2) }

// errDiffers says that two runs of one seed are not the same.
var errDiffers = errors.New("the same seed gave another trace")

// trace plays a seed and returns all that happened, every message included.
func trace(p *suite.Protocol, seed uint64) ([]byte, error) {
	told := *p
	told.Configure = func(c *sim.Config) {
		if p.Configure != nil {
			p.Configure(c)
		}
		c.Messages = true
	}
	var out bytes.Buffer
	tracer := sim.NewTrace(&out)
	_, run, err := fuzz.Seed(&told, p.Members, seed, fuzz.LengthOf(p), tracer)
	if err != nil {
		return nil, err
	}
	if run.Err != nil {
		return nil, run.Err
	}
	return out.Bytes(), tracer.Flush()
}

// replay plays a seed twice and says where the second run leaves the first.
func replay(p *suite.Protocol, seed uint64) ([]byte, error) {
	first, err := trace(p, seed)
	if err != nil {
		return nil, err
	}
	second, err := trace(p, seed)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(first, second) {
		return first, nil
	}
	a, b := bytes.Split(first, []byte("\n")), bytes.Split(second, []byte("\n"))
	for i := range min(len(a), len(b)) {
		if !bytes.Equal(a[i], b[i]) {
			return nil, fmt.Errorf("seed %d: %w: line %d is\n%s\nand then\n%s", seed, errDiffers, i+1, a[i], b[i])
		}
	}
	return nil, fmt.Errorf("seed %d: %w: it has %d lines and then %d", seed, errDiffers, len(a), len(b))
}

func TestSameSeedGivesTheSameTrace(t *testing.T) {
	for _, p := range suite.All() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			seen := map[string]uint64{}
			for seed := uint64(1); seed <= replaySeeds(); seed++ {
				got, err := replay(p, seed)
				if err != nil {
					t.Error(err)
					continue
				}
				if bytes.Count(got, []byte("\n")) < 100 {
					t.Errorf("seed %d: hardly anything happened:\n%s", seed, got)
				}
				if other, twice := seen[string(got)]; twice {
					t.Errorf("seeds %d and %d give the same trace: the seed is not used", other, seed)
				}
				seen[string(got)] = seed
			}
		})
	}
}

// An impure machine remembers how often machines like it have been stepped, across all runs of the process.
type impure struct {
	protocol.Machine
	steps *int
}

func (m impure) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.Machine.Step(now, ev, out)
	if *m.steps++; *m.steps%1000 == 0 && len(out.Send) > 0 {
		out.Send = out.Send[1:]
	}
}

func TestReplayNoticesAnImpureMachine(t *testing.T) {
	p, err := suite.Lookup("rank")
	if err != nil {
		t.Fatal(err)
	}
	bad, steps := *p, 0
	bad.Spawn = func(b sim.Boot) (protocol.Machine, error) {
		m, err := p.Spawn(b)
		return impure{m, &steps}, err
	}
	for seed := uint64(1); seed <= 20; seed++ {
		if _, err := replay(&bad, seed); errors.Is(err, errDiffers) {
			t.Logf("as it should be: %v", err)
			return
		}
	}
	t.Error("a machine with memory across runs went unnoticed")
}
