package stamp

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestQuorumsCompareByEveryCommonVoter(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		want       int
	}{
		{"later clock at the only common voter", "0/1@10,1/1@20", "1/1@21,2/1@5", -1},
		{"later incarnation beats an earlier clock", "0/1@900,1/1@900", "0/2@1,1/2@1", -1},
		{"incarnation and clock may differ by voter", "0/1@900,1/1@10", "0/2@1,1/1@11", -1},
		{"the same tenure", "0/1@10,2/4@20", "0/1@10,2/4@20", 0},
		{"negative clocks are clocks", "0/1@-10", "0/1@-9", -1},
		{"other voters do not count", "0/1@10,1/9@999,2/1@30", "0/1@11,2/1@31,3/1@1", -1},
	} {
		a, b := mustQuorum(t, c.a), mustQuorum(t, c.b)
		if got, err := a.Compare(b); got != c.want || err != nil {
			t.Errorf("%s: %v against %v: %d, %v; want %d", c.name, a, b, got, err, c.want)
		}
		if got, err := b.Compare(a); got != -c.want || err != nil {
			t.Errorf("%s: %v against %v: %d, %v; want %d", c.name, b, a, got, err, -c.want)
		}
	}
}

func TestQuorumsThatCannotShareAHistoryAreAnErrorBothWays(t *testing.T) {
	for _, c := range []struct{ name, a, b, says string }{
		{"voters disagree", "0/1@10,1/1@20", "0/1@11,1/1@19", "voter 0 puts"},
		{"one voter sees no difference", "0/1@10,1/1@20", "0/1@10,1/1@21", "voter 1"},
		{"no common voter", "0/1@10,1/1@20", "2/1@10,3/1@20", "no voter in common"},
		{"a part of the other", "0/1@10,1/1@20", "0/1@10,1/1@20,2/1@30", "not the same"},
		{"nothing at all", "", "0/1@10", "no voter in common"},
	} {
		a, b := mustQuorum(t, c.a), mustQuorum(t, c.b)
		_, err := a.Compare(b)
		if !errors.Is(err, ErrInconsistent) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one that says %q", c.name, err, c.says)
		}
		if _, err := b.Compare(a); !errors.Is(err, ErrInconsistent) {
			t.Errorf("%s, turned round: error %v", c.name, err)
		}
	}
}

// A dumb council: each tenure asks a random majority of voters, whose clocks move on; voters restart with a lower
// clock and a higher incarnation. The order of stamps must be the order of tenures, for every pair of them.
func TestStampsOfAHistoryAreOrderedAsItsEdictsWereMade(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 1 + rnd.IntN(7)
		edicts := history(rnd, n, 12)
		for i, e := range edicts {
			for j, f := range edicts {
				got, err := e.Compare(f)
				if want := cmp.Compare(i, j); got != want || err != nil {
					t.Fatalf("%d voters: %v against %v: %d, %v; made as %d and %d", n, e, f, got, err, i, j)
				}
			}
		}
	}
}

// history returns the edicts of some tenures of n voters in the order in which they were made.
func history(rnd *rand.Rand, n, tenures int) []Edict {
	voters := make([]Entry, n)
	for i := range voters {
		voters[i] = Entry{Voter: uint16(i), Inc: 1, Clock: rnd.Int64N(1e12)}
	}
	var edicts []Edict
	e := Edict{Token: 1}
	for range tenures {
		e.Quorum = nil
		for _, i := range rnd.Perm(n)[:n/2+1] {
			if rnd.IntN(4) == 0 {
				voters[i].Inc, voters[i].Clock = voters[i].Inc+1, rnd.Int64N(100)
			}
			voters[i].Clock += 1 + rnd.Int64N(1e9)
		}
		in := rnd.Perm(n)[:n/2+1]
		for i := range voters {
			voters[i].Clock++
			for _, j := range in {
				if i == j {
					e.Quorum = append(e.Quorum, voters[i])
				}
			}
		}
		e.Token += 1 + rnd.Uint64N(3)
		e.Counter = rnd.Int64N(1e9) // the clocks of different makers have nothing to do with one another
		for range 3 {
			e.Counter += 1 + rnd.Int64N(5)
			edicts = append(edicts, e)
		}
		if rnd.IntN(6) == 0 {
			e.Epoch++
		}
	}
	return edicts
}

func TestAnEdictWhoseTokenContradictsItsQuorumIsInconsistent(t *testing.T) {
	base := Edict{Token: 5, Counter: 9, Quorum: Quorum{{0, 1, 10}, {1, 1, 20}}}
	later := Quorum{{0, 1, 11}, {1, 1, 21}}
	for name, e := range map[string]Edict{
		"later quorum, same token":   {Token: 5, Counter: 9, Quorum: later},
		"later quorum, lower token":  {Token: 4, Counter: 9, Quorum: later},
		"same quorum, another token": {Token: 6, Counter: 9, Quorum: base.Quorum},
		"later epoch, same token":    {Epoch: 1, Token: 5, Counter: 9, Quorum: later},
	} {
		if _, err := e.Compare(base); !errors.Is(err, ErrInconsistent) {
			t.Errorf("%s: error %v, want ErrInconsistent", name, err)
		}
	}
	other := Edict{Epoch: 1, Token: 6, Quorum: Quorum{{7, 1, 1}}}
	if got, err := other.Compare(base); got != 1 || err != nil {
		t.Errorf("a later epoch with other voters: %d, %v; want 1: voters do not cross an epoch", got, err)
	}
}

func TestCheckRefusesWhatNoVoterSigned(t *testing.T) {
	many := make(Quorum, MaxVoters+1)
	for i := range many {
		many[i].Voter = uint16(i)
	}
	for name, q := range map[string]Quorum{
		"empty":          {},
		"twice the same": {{Voter: 1}, {Voter: 1}},
		"out of order":   {{Voter: 2}, {Voter: 1}},
		"nobody":         {{Voter: 1<<16 - 1}},
		"too many":       many,
	} {
		if q.Check() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, token := range []uint64{0, MaxToken + 1} {
		if (Edict{Token: token, Quorum: Quorum{{Voter: 1}}}).Check() == nil {
			t.Errorf("token %d: no error", token)
		}
	}
}

func mustQuorum(t *testing.T, s string) Quorum {
	t.Helper()
	if s == "" {
		return nil
	}
	var q Quorum
	if err := q.UnmarshalText([]byte(s)); err != nil {
		t.Fatal(err)
	}
	return q
}
