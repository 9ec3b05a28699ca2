package fence

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
)

// The stamps of these tests, in the order in which they were made.
const (
	first       = "0.5.1000:0/1@10,1/1@20"
	second      = "0.5.1001:0/1@10,1/1@20"
	third       = "0.7.3:1/1@21,2/1@30"
	otherEpoch  = "1.8.1:0/1@1"
	contradicts = "0.9.4:1/1@19,2/1@31" // later than third at voter 2, earlier at voter 1
)

func parse(t testing.TB, s string) Stamp {
	t.Helper()
	st, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func TestStampsAreOrderedAsTheirOrdersWereMade(t *testing.T) {
	inOrder := []string{first, second, third, otherEpoch}
	for i, a := range inOrder {
		for j, b := range inOrder {
			want := map[bool]int{i < j: -1, i > j: 1}[true]
			if i == j {
				want = 0
			}
			if got, err := parse(t, a).Compare(parse(t, b)); got != want || err != nil {
				t.Errorf("%s against %s: %d, %v; want %d", a, b, got, err, want)
			}
		}
	}
}

func TestATokenIsComparedByTokenAlone(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"5", first, 0}, {"5", "5", 0}, {"4", first, -1}, {"6", first, 1}, {"6", "7", -1}, {third, "5", 1}} {
		if got, err := parse(t, c.a).Compare(parse(t, c.b)); got != c.want || err != nil {
			t.Errorf("%s against %s: %d, %v; want %d", c.a, c.b, got, err, c.want)
		}
	}
}

func TestParseReadsWhatStringWritesAndNothingElse(t *testing.T) {
	for _, s := range []string{first, third, otherEpoch, "1", "9007199254740991"} {
		st := parse(t, s)
		if st.String() != s || st.Full() != strings.Contains(s, ":") || st.IsZero() {
			t.Errorf("%s reads as %v", s, st)
		}
		if parse(t, st.String()).String() != s {
			t.Errorf("%s does not survive", s)
		}
	}
	for _, s := range []string{"", "0", "-1", "+5", "05", " 5", "5 ", "5.0", "9007199254740992", "18446744073709551616", "0x5",
		"0.0.1:0/1@1", first + ",", "5:0/1@1"} {
		if st, err := Parse(s); err == nil {
			t.Errorf("%q reads as %v", s, st)
		}
	}
	if parse(t, first).Token() != 5 {
		t.Error("wrong token")
	}
}

func TestStampsAreStringsInJSON(t *testing.T) {
	type order struct{ Full, Token, None Stamp }
	raw, err := json.Marshal(order{Full: parse(t, first), Token: Token(5)})
	if want := `{"Full":"` + first + `","Token":"5","None":""}`; string(raw) != want || err != nil {
		t.Fatalf("%s, %v; want %s", raw, err, want)
	}
	var back order
	if err := json.Unmarshal(raw, &back); err != nil || back.Full.String() != first || back.Token.Token() != 5 || !back.None.IsZero() {
		t.Fatalf("%+v, %v", back, err)
	}
	if json.Unmarshal([]byte(`{"Full":"5x"}`), &back) == nil || back.Full.String() != first {
		t.Error("a refused stamp left something behind")
	}
}

func TestAStaleErrorNamesBothStampsAndWhy(t *testing.T) {
	for _, c := range []struct{ got, seen, says string }{
		{first, third, "earlier leadership"}, {first, second, "made earlier"}, {"4", "5", "earlier leadership"},
	} {
		msg := (&StaleError{Got: parse(t, c.got), Seen: parse(t, c.seen)}).Error()
		for _, part := range []string{c.got, c.seen, c.says} {
			if !strings.Contains(msg, part) {
				t.Errorf("%q does not say %q", msg, part)
			}
		}
	}
}

func TestContradictingStampsAreAnError(t *testing.T) {
	if _, err := parse(t, contradicts).Compare(parse(t, third)); !errors.Is(err, ErrInconsistent) {
		t.Errorf("error %v", err)
	}
}

func TestOnlyTheZeroStampIsZero(t *testing.T) {
	if !(Stamp{}).IsZero() || (Stamp{}).Full() || (Stamp{}).String() != "" || Token(math.MaxUint32).IsZero() {
		t.Error("zero stamps are mixed up")
	}
}
