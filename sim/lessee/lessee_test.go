package lessee

import (
	"flag"
	"testing"
	"time"
)

var seeds = flag.Uint64("lessee.seeds", 400, "how many seeds to play")

func TestNoTwoLeadUnderFaults(t *testing.T) {
	var all Coverage
	for seed := range *seeds {
		c, err := Run(Config{Seed: seed, Contenders: 2 + int(seed%3), Faulty: 40 * time.Second, Healed: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		all.add(&c)
	}
	if all.Elections == 0 || all.Renewals == 0 || all.Takeovers == 0 || all.Releases == 0 || all.Lapses == 0 || all.Withdrawals == 0 || all.LostAnswers == 0 ||
		all.Deletions == 0 || all.Crashes == 0 || all.Expired == 0 || all.Replaced == 0 {
		t.Errorf("not all has happened: %+v", all)
	}
	t.Logf("%+v", all)
}

func TestTheSameSeedGivesTheSameRun(t *testing.T) {
	c := Config{Seed: 7, Contenders: 3, Faulty: 20 * time.Second, Healed: 5 * time.Second}
	first, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Run(c); err != nil || again != first {
		t.Errorf("%+v, then %+v (%v)", first, again, err)
	}
}
