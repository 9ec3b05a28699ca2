package checkpoints

import (
	"flag"
	"testing"
)

var (
	seeds = flag.Uint64("checkpoints.seeds", 3, "how many seeds to play with each council")
	from  = flag.Uint64("checkpoints.from", 0, "the first of them")
)

func TestASmallerShareIsRecoveredSooner(t *testing.T) {
	var last Recovery
	for _, k := range []int{1, 4} {
		r := Run{Seed: 1, Members: 7, Data: k, Keys: 14, Frames: 1000, Size: 1024, Line: 125e6, Scale: 1024}
		took, err := r.Recover()
		if err != nil {
			t.Fatal(err)
		}
		if took.Agreed <= 0 || took.Resumed < took.Agreed || took.Safe < took.Resumed {
			t.Errorf("k = %d: %+v", k, took)
		}
		if last.Safe > 0 && took.Safe >= last.Safe {
			t.Errorf("shares of a quarter take %v, whole copies %v", took.Safe, last.Safe)
		}
		last = took
	}
}

// Nobody repeats more than an interval of an heir's work that is lost before its first checkpoint is complete.
func TestAnHeirThatIsCutOff(t *testing.T) {
	r := Run{Seed: 1, Members: 7, Data: 4, Keys: 14, Frames: 5000, Size: 64, Hurry: 20}
	if err := r.Overtake(); err != nil {
		t.Error(err)
	}
	if r.Resumed < 3 || r.Repeated == 0 {
		t.Errorf("%d keys were resumed, and %d frames were computed again", r.Resumed, r.Repeated)
	}
}

func TestNoWorkIsLostWhateverFails(t *testing.T) {
	sum := Run{}
	for seed := *from; seed < *from+*seeds; seed++ {
		for _, n := range []struct{ members, data int }{{7, 4}, {7, 3}, {9, 4}} {
			r := Run{Seed: seed, Members: n.members, Data: n.data, Keys: 8, Frames: 200, Size: 64, Rounds: 6}
			if err := r.Play(); err != nil {
				t.Errorf("seed %d, %d of %d: %v", seed, n.data, n.members, err)
			}
			sum.Computed += r.Computed
			sum.Repeated += r.Repeated
			sum.Resumed += r.Resumed
			sum.Recovered += r.Recovered
			sum.Waited += r.Waited
		}
	}
	t.Logf("%d frames, %d of them again; %d keys resumed in %d recoveries, %d waits", sum.Computed, sum.Repeated, sum.Resumed, sum.Recovered, sum.Waited)
	if sum.Resumed == 0 || sum.Repeated == 0 {
		t.Error("no run resumed from a checkpoint")
	}
}
