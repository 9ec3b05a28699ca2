package stamp

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
)

// Each line of testdata/vectors.txt is a compact form in hex and the text form of the same edict. They are a promise
// to every program that ever stored a stamp: lines are added, never changed.
func TestGoldenVectorsReadAndWriteAsEver(t *testing.T) {
	data, err := os.ReadFile("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		n++
		compact, text, _ := strings.Cut(line, " ")
		raw, err := hex.DecodeString(compact)
		if err != nil {
			t.Fatal(err)
		}
		var a, b Edict
		if err := a.UnmarshalBinary(raw); err != nil {
			t.Errorf("%s: %v", compact, err)
		}
		if err := b.UnmarshalText([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s reads as %v, %s as %v", compact, a, text, b)
		}
		if out, err := b.MarshalBinary(); !bytes.Equal(out, raw) || err != nil {
			t.Errorf("%s writes %x, %v; want %s", text, out, err, compact)
		}
		if a.String() != text {
			t.Errorf("%s writes %v, want %s", compact, a, text)
		}
	}
	if n < 6 {
		t.Fatalf("%d vectors: some are missing", n)
	}
}

func TestEveryEdictSurvivesBothForms(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		for _, e := range history(rnd, 1+rnd.IntN(9), 3) {
			raw, err := e.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			var back Edict
			if err := back.UnmarshalBinary(raw); err != nil || !reflect.DeepEqual(e, back) {
				t.Fatalf("%v came back as %v, %v", e, back, err)
			}
			if back, err := Parse(e.String()); err != nil || !reflect.DeepEqual(e, back) {
				t.Fatalf("%v came back as %v, %v", e, back, err)
			}
		}
	}
}

func TestTheLargestEdictSurvives(t *testing.T) {
	e := Edict{Epoch: math.MaxUint64, Token: MaxToken, Counter: math.MinInt64}
	for i := range MaxVoters {
		e.Quorum = append(e.Quorum, Entry{uint16(i), math.MaxUint64, math.MaxInt64})
	}
	raw, err := e.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back Edict
	if err := back.UnmarshalBinary(raw); err != nil || !reflect.DeepEqual(e, back) {
		t.Fatalf("did not come back: %v", err)
	}
}

func TestThreeVotersTakeFewBytes(t *testing.T) {
	const day = 24 * 3600 * 1e9
	e := Edict{Token: 1000, Counter: 30 * day, Quorum: Quorum{{0, 40e6, 30 * day}, {1, 40e6, 7 * day}, {2, 40e6, 90 * day}}}
	raw, err := e.MarshalBinary()
	if err != nil || len(raw) > 60 {
		t.Fatalf("%d bytes, %v", len(raw), err)
	}
	if n := len(e.String()); n > 128 {
		t.Fatalf("%d characters", n)
	}
}

func TestDecodingIsStrict(t *testing.T) {
	good, err := Edict{Epoch: 1, Token: 2, Counter: 3, Quorum: Quorum{{0, 1, 10}, {2, 1, 30}}}.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var e Edict
	for i := range good {
		if e.UnmarshalBinary(good[:i]) == nil {
			t.Errorf("%d of %d bytes are taken for all", i, len(good))
		}
	}
	for name, h := range map[string]string{
		"trailing byte":         hex.EncodeToString(good) + "00",
		"another version":       "02" + hex.EncodeToString(good[1:]),
		"long form of a number": "01" + "8100" + hex.EncodeToString(good[2:]),
		"beyond 64 bits":        "01" + "ffffffffffffffffff7f" + hex.EncodeToString(good[2:]),
		"token zero":            "0101000601000114",
		"no voters":             "0101020600",
		"a thousand voters":     "01010206e807" + "000114",
		"voter beyond 999":      "0101020601" + "e807" + "0114",
		"gap beyond 999":        "0101020602" + "e707" + "0114" + "00" + "0114",
		"incarnation too large": "0101020601" + "00" + "80808080808080808002" + "14",
	} {
		raw, err := hex.DecodeString(h)
		if err != nil {
			t.Fatal(name, err)
		}
		if err := e.UnmarshalBinary(raw); err == nil {
			t.Errorf("%s: read as %v", name, e)
		}
	}
	if !reflect.DeepEqual(e, Edict{}) {
		t.Errorf("a refused stamp left %v behind", e)
	}
}

func TestParsingIsStrict(t *testing.T) {
	const good = "0.42.7:0/7@5,2/3@9"
	if _, err := Parse(good); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"", "42", "0.42.7", "0.42:0/7@5", "0.42.7.1:0/7@5", ":0/7@5", "0.42.7:", "0.42.7:0", "0.42.7:0/7", "0.42.7:0@7",
		"00.42.7:0/7@5", "+0.42.7:0/7@5", "0.042.7:0/7@5", "0.42.07:0/7@5", "0.42.-0:0/7@5", "0.42.7:00/7@5", "0.42.7:0/+7@5",
		" 0.42.7:0/7@5", "0.42.7:0/7@5 ", "0.42.7:0/7@5,", "0.42.7:0/7@5\n", "0.42.7:0/7@5,0/8@6", "0.42.7:1/7@5,0/8@6",
		"0.0.7:0/7@5", "0.9007199254740992.7:0/7@5", "0.42.7:65536/7@5", "0.42.7:1000/7@5", "0.42.7:0/18446744073709551616@5",
		"0.42.9223372036854775808:0/7@5", "-1.42.7:0/7@5", "0x0.42.7:0/7@5", "0.4_2.7:0/7@5",
		"0.42.7:" + strings.Repeat("0/1@1,", 100_000) + "0/1@1",
	} {
		e, err := Parse(bad)
		if err == nil {
			t.Errorf("%q: read as %v", clip(bad), e)
		} else if len(err.Error()) > 400 {
			t.Errorf("%q: the error repeats %d bytes of it", clip(bad), len(err.Error()))
		}
	}
}

func TestStampsAreJSONStrings(t *testing.T) {
	e, err := Parse("0.42.7:0/7@5,2/3@9")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(struct {
		E Edict
		Q Quorum
	}{e, e.Quorum})
	if want := `{"E":"0.42.7:0/7@5,2/3@9","Q":"0/7@5,2/3@9"}`; string(raw) != want || err != nil {
		t.Fatalf("%s, %v; want %s", raw, err, want)
	}
	var back Edict
	if err := json.Unmarshal([]byte(`"0.42.7:0/7@5,2/3@9"`), &back); err != nil || !reflect.DeepEqual(e, back) {
		t.Fatalf("%v, %v", back, err)
	}
}

func FuzzUnmarshalBinary(f *testing.F) {
	raw, _ := Edict{Epoch: 1, Token: 2, Counter: -3, Quorum: Quorum{{0, 1, 10}, {2, 1, -30}}}.MarshalBinary()
	f.Add(raw)
	f.Fuzz(func(t *testing.T, b []byte) {
		var e Edict
		if e.UnmarshalBinary(b) != nil {
			return
		}
		if err := e.Check(); err != nil {
			t.Fatalf("read %v: %v", e, err)
		}
		if out, err := e.MarshalBinary(); err != nil || !bytes.Equal(out, b) {
			t.Fatalf("%x reads as %v and writes as %x, %v", b, e, out, err)
		}
		if o, err := e.Compare(e); o != 0 || err != nil {
			t.Fatalf("%v against itself: %d, %v", e, o, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("0.42.7:0/7@5,2/3@9")
	f.Add("1.1.-7:999/4294967295@-5")
	for _, text := range []string{"", "0.1:0/1@1", "x.1.1:0/1@1", "1.x.1:0/1@1", "1.1.x:0/1@1", "1.1.1:", "1.1.1:0", "1.1.1:x/1@1", "1.1.1:0/x@1", "1.1.1:0/1@x", "1.1.1:1000/1@1", "1.1.1:2/1@1,1/1@1",
		"1.0.1:0/1@1", "1.1.1:" + strings.Repeat(",", MaxVoters)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := Parse(s)
		if err != nil {
			return
		}
		if e.String() != s {
			t.Fatalf("%q reads as %v", s, e)
		}
		var back Edict
		if raw, err := e.MarshalBinary(); err != nil || back.UnmarshalBinary(raw) != nil || !reflect.DeepEqual(e, back) {
			t.Fatalf("%v does not survive the compact form: %v", e, err)
		}
	})
}
