package protocol_test

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/regentproject/regent/internal/protocol"
)

// A family is a quorum system for at most eight members, as the list of all its quorums: family[m] says whether the
// members whose bits are set in m are one.
type family struct {
	n  int
	is []bool
}

func newFamily(n int, quorum func(mask int) bool) family {
	f := family{n: n, is: make([]bool, 1<<n)}
	for m := range f.is {
		f.is[m] = quorum(m)
	}
	return f
}

// disjoint finds two quorums without a common member by trying all pairs.
func (f family) disjoint() bool {
	for a := range f.is {
		for b := range f.is {
			if f.is[a] && f.is[b] && a&b == 0 {
				return true
			}
		}
	}
	return false
}

// meetsAll is the definition: every quorum has a member of s other than me.
func (f family) meetsAll(s, me int) bool {
	for q := range f.is {
		if f.is[q] && q&s&^(1<<me) == 0 {
			return false
		}
	}
	return true
}

func fromMask(m int) protocol.Set {
	var s protocol.Set
	for ; m != 0; m &= m - 1 {
		s.Add(protocol.Rank(bits.TrailingZeros(uint(m))))
	}
	return s
}

// agrees compares a system with its twin on every set and every member.
func agrees(t *rapid.T, q protocol.Quorums, f family) {
	t.Helper()
	if q.Members() != f.n {
		t.Fatalf("%v is about %d members, want %d", q, q.Members(), f.n)
	}
	for m, is := range f.is {
		s := fromMask(m)
		if q.In(s) != is {
			t.Fatalf("%v: In(%v) = %v", q, s, q.In(s))
		}
		if stranger := s.With(protocol.Rank(f.n)); q.In(stranger) != is {
			t.Fatalf("%v: In(%v) = %v: a member beyond the council counted", q, stranger, q.In(stranger))
		}
		for me := range f.n {
			if got, want := q.MeetsAll(s, protocol.Rank(me)), f.meetsAll(m, me); got != want {
				t.Fatalf("%v: MeetsAll(%v, %v) = %v, want %v", q, s, protocol.Rank(me), got, want)
			}
		}
	}
}

// namedSets reads the two sets that a refusal names back from its words.
func namedSets(t *rapid.T, err error) (a, b int) {
	t.Helper()
	var masks []int
	for rest := err.Error(); ; {
		_, after, found := strings.Cut(rest, "{")
		if !found {
			break
		}
		var inside string
		inside, rest, _ = strings.Cut(after, "}")
		mask := 0
		for name := range strings.FieldsSeq(inside) {
			mask |= 1 << (name[0] - 'a')
		}
		masks = append(masks, mask)
	}
	if len(masks) != 2 {
		t.Fatalf("%q names %d sets, want two", err, len(masks))
	}
	return masks[0], masks[1]
}

// refused checks that a refusal is right: the two sets that it names are quorums and have no member in common.
func refused(t *rapid.T, err error, f family) {
	t.Helper()
	a, b := namedSets(t, err)
	if a&b != 0 {
		t.Fatalf("%q names two sets that do intersect", err)
	}
	if !f.is[a] || !f.is[b] {
		t.Fatalf("%q names a set that is no quorum", err)
	}
}

func TestMajorityAgainstAllSubsets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		f := newFamily(n, func(m int) bool { return 2*bits.OnesCount(uint(m)) > n })
		if f.disjoint() {
			t.Fatalf("the twin itself has disjoint majorities of %d", n)
		}
		agrees(t, protocol.Majority(n), f)
	})
}

func TestWeightedAgainstAllSubsets(t *testing.T) {
	counts := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		weight := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 8).Draw(t, "weight")
		total := 0
		for _, w := range weight {
			total += w
		}
		if total == 0 {
			return // refused for another reason; TestQuorumSystemsAreRefused
		}
		need := rapid.IntRange(1, total).Draw(t, "need")
		f := newFamily(len(weight), func(m int) bool {
			sum := 0
			for i, w := range weight {
				sum += w * (m >> i & 1)
			}
			return sum >= need
		})
		q, err := protocol.Weighted(weight, need)
		counts[err == nil]++
		if (err != nil) != f.disjoint() {
			t.Fatalf("weights %v, need %d: %v, but disjoint quorums: %v", weight, need, err, f.disjoint())
		}
		if err != nil {
			refused(t, err, f)
			return
		}
		agrees(t, q, f)
	})
	if counts[true] == 0 || counts[false] == 0 {
		t.Errorf("%d systems were accepted and %d refused: one side was never tried", counts[true], counts[false])
	}
}

func TestExplicitAgainstAllSubsets(t *testing.T) {
	counts := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		masks := rapid.SliceOfN(rapid.IntRange(1, 1<<n-1), 1, 5).Draw(t, "sets")
		sets := make([]protocol.Set, len(masks))
		for i, m := range masks {
			sets[i] = fromMask(m)
		}
		f := newFamily(n, func(m int) bool {
			for _, q := range masks {
				if m&q == q {
					return true
				}
			}
			return false
		})
		q, err := protocol.Explicit(n, sets...)
		counts[err == nil]++
		if (err != nil) != f.disjoint() {
			t.Fatalf("sets %v of %d: %v, but disjoint quorums: %v", sets, n, err, f.disjoint())
		}
		if err != nil {
			refused(t, err, f)
			return
		}
		agrees(t, q, f)
		shuffled, err := protocol.Explicit(n, append(rapid.Permutation(sets).Draw(t, "shuffled"), sets[0], protocol.Everyone(n))...)
		if err != nil || shuffled.String() != q.String() {
			t.Fatalf("the same system listed in another way is %v (%v), not %v", shuffled, err, q)
		}
	})
	if counts[true] == 0 || counts[false] == 0 {
		t.Errorf("%d systems were accepted and %d refused: one side was never tried", counts[true], counts[false])
	}
}

// Which description belongs to which system must be certain, because members compare configurations by it.
func TestEqualDescriptionsMeanEqualSystems(t *testing.T) {
	seen := map[string]string{}
	note := func(q protocol.Quorums, err error) {
		if err != nil {
			return
		}
		var table strings.Builder
		for m := range 1 << q.Members() {
			fmt.Fprint(&table, q.In(fromMask(m)))
		}
		if other, ok := seen[q.String()]; ok && other != table.String() {
			t.Errorf("two systems are described as %v", q)
		}
		seen[q.String()] = table.String()
	}
	for n := 1; n <= 3; n++ {
		note(protocol.Majority(n), nil)
		for a := range 1 << n {
			for b := range 1 << n {
				note(protocol.Explicit(n, fromMask(a), fromMask(b)))
			}
		}
		for w := range 4 * 4 * 4 {
			for need := 1; need <= 9; need++ {
				note(protocol.Weighted([]int{w & 3, w >> 2 & 3, w >> 4}[:n], need))
			}
		}
	}
	if len(seen) < 50 {
		t.Errorf("only %d systems were compared", len(seen))
	}
	w, err := protocol.Weighted([]int{1, 1, 1}, 2)
	if m := protocol.Majority(3); err != nil || w.String() != m.String() {
		t.Errorf("one vote each is described as %v (%v), a majority as %v", w, err, m)
	}
}

func TestQuorumSystemsAreRefused(t *testing.T) {
	refusal := func(_ protocol.Quorums, err error) error { return err }
	heavy := make([]int, 1000)
	for i := range heavy {
		heavy[i] = 100
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{refusal(protocol.Weighted(nil, 1)), "0 members"},
		{refusal(protocol.Weighted(make([]int, 1001), 1)), "1001 members"},
		{refusal(protocol.Weighted([]int{1, -2}, 1)), "weight -2 of b"},
		{refusal(protocol.Weighted([]int{1 << 17}, 1)), "weight 131072 of a"},
		{refusal(protocol.Weighted(heavy, 60000)), "total weight 100000"},
		{refusal(protocol.Weighted([]int{1, 1}, 0)), "needed weight 0"},
		{refusal(protocol.Weighted([]int{1, 1}, 3)), "needed weight 3"},
		{refusal(protocol.Weighted([]int{0, 0}, 1)), "needed weight 1"},
		{refusal(protocol.Weighted([]int{1, 1, 1, 1}, 2)), "{a b} and {c d} both have the needed weight 2"},
		{refusal(protocol.Explicit(0, protocol.NewSet(0))), "0 members"},
		{refusal(protocol.Explicit(1001, protocol.NewSet(0))), "1001 members"},
		{refusal(protocol.Explicit(3)), "no sets given"},
		{refusal(protocol.Explicit(3, protocol.NewSet(0), protocol.Set{})), "an empty set"},
		{refusal(protocol.Explicit(3, protocol.NewSet(0, 3))), "{a d} has members beyond the 3"},
		{refusal(protocol.Explicit(4, protocol.NewSet(0, 1), protocol.NewSet(2, 3))), "{a b} and {c d} do not intersect"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got %v, want a refusal that says %q", c.err, c.want)
		}
	}
}

func TestMajorityOfNoCouncilIsABrokenInvariant(t *testing.T) {
	for _, n := range []int{-2, 0, protocol.MaxMembers + 1} {
		func() {
			defer func() {
				if p, ok := recover().(string); !ok || !strings.Contains(p, fmt.Sprint(n)) {
					t.Errorf("Majority(%d): panic %q does not name the number", n, p)
				}
			}()
			protocol.Majority(n)
		}()
	}
}

func TestZeroQuorumsHaveNoQuorum(t *testing.T) {
	var q protocol.Quorums
	if q.In(protocol.Everyone(protocol.MaxMembers)) {
		t.Error("everyone is a quorum of the zero value")
	}
}

func TestCallerCannotChangeAQuorumSystem(t *testing.T) {
	weight := []int{3, 1, 1}
	w, err := protocol.Weighted(weight, 3)
	if err != nil {
		t.Fatal(err)
	}
	sets := []protocol.Set{protocol.NewSet(0, 1), protocol.NewSet(1, 2)}
	e, err := protocol.Explicit(3, sets...)
	if err != nil {
		t.Fatal(err)
	}
	weight[0], sets[0] = 0, protocol.NewSet(2)
	if !w.In(protocol.NewSet(0)) || e.In(protocol.NewSet(2)) {
		t.Error("a system changed with the slice that it was built from")
	}
}

func TestLargestCouncilsAreDecidedExactly(t *testing.T) {
	weight := make([]int, protocol.MaxMembers)
	total := 0
	for i := range weight {
		weight[i] = 2 * (1 + i%31) // even weights: no half of an odd target can be hit
		total += weight[i]
	}
	if _, err := protocol.Weighted(weight, total/2); err == nil {
		t.Error("half of the weight was accepted as a quorum")
	}
	q, err := protocol.Weighted(weight, total/2+1)
	if err != nil {
		t.Fatal(err)
	}
	if everyone := protocol.Everyone(protocol.MaxMembers); !q.In(everyone) || q.MeetsAll(protocol.Set{}, 0) || !q.MeetsAll(everyone, 0) {
		t.Error("everyone is no quorum, or does not meet one")
	}
}

func TestAskingForAQuorumDoesNotAllocate(t *testing.T) {
	weighted, err := protocol.Weighted([]int{2, 1, 1, 1}, 3)
	if err != nil {
		t.Fatal(err)
	}
	explicit, err := protocol.Explicit(4, protocol.NewSet(0, 1), protocol.NewSet(0, 2), protocol.NewSet(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	s := protocol.NewSet(0, 3)
	for _, q := range []protocol.Quorums{protocol.Majority(1000), weighted, explicit} {
		if n := testing.AllocsPerRun(100, func() { q.In(s); q.MeetsAll(s, 1) }); n != 0 {
			t.Errorf("%v: %v allocations", q, n)
		}
	}
}

func BenchmarkQuorumIn(b *testing.B) {
	for _, n := range []int{5, protocol.MaxMembers} {
		q, s := protocol.Majority(n), protocol.Everyone(n/2)
		b.Run(fmt.Sprintf("majority/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if q.In(s) {
					b.Fatal("half is a majority")
				}
			}
		})
	}
}

func TestMajorityOfTheVoters(t *testing.T) {
	q := protocol.MajorityOf(6, protocol.NewSet(0, 2, 3))
	for _, tt := range []struct {
		s    protocol.Set
		want bool
	}{{protocol.NewSet(0, 2), true}, {protocol.NewSet(2, 3, 5), true}, {protocol.NewSet(0, 1, 4, 5), false}, {protocol.NewSet(1, 4, 5), false}, {protocol.Everyone(6), true}} {
		if q.In(tt.s) != tt.want {
			t.Errorf("%v is a quorum: %v, want %v", tt.s, !tt.want, tt.want)
		}
	}
	if q.Voters() != protocol.NewSet(0, 2, 3) || q.Members() != 6 {
		t.Errorf("%v vote, of %d", q.Voters(), q.Members())
	}
	// Whoever knows what all others know need not ask observers.
	if !q.MeetsAll(protocol.NewSet(2, 3), 0) || q.MeetsAll(protocol.NewSet(3, 1, 4, 5), 0) {
		t.Error("who meets all quorums is judged by those who vote")
	}
	if a, b := protocol.MajorityOf(4, protocol.Everyone(4)), protocol.Majority(4); a.String() != b.String() {
		t.Errorf("where all vote the system is %v, want %v", a, b)
	}
	for _, voters := range []protocol.Set{{}, protocol.NewSet(3)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a majority of %v, of 3, was made", voters)
				}
			}()
			protocol.MajorityOf(3, voters)
		}()
	}
}

func TestVotersAreThoseWhoMakeADifference(t *testing.T) {
	weighted, err := protocol.Weighted([]int{0, 2, 1, 0}, 2)
	if err != nil {
		t.Fatal(err)
	}
	explicit, err := protocol.Explicit(4, protocol.NewSet(0, 1), protocol.NewSet(1, 3))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		q    protocol.Quorums
		want protocol.Set
	}{{protocol.Majority(3), protocol.Everyone(3)}, {weighted, protocol.NewSet(1, 2)}, {explicit, protocol.NewSet(0, 1, 3)}, {protocol.Quorums{}, protocol.Set{}}} {
		if got := tt.q.Voters(); got != tt.want {
			t.Errorf("%v: %v vote, want %v", tt.q, got, tt.want)
		}
	}
}
