package obituary

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/protocol"
)

func letter(seed byte) *Letter {
	l := &Letter{}
	for i := range l.Head {
		l.Head[i] = seed + byte(i)
	}
	for i := range l.Key {
		l.Key[i] = seed ^ byte(i)
	}
	return l
}

var someReports = []Report{
	{},
	{First: "a", Last: "a"},
	{First: "a", Last: "m", Kept: []protocol.Group{"a", "b", "größe", "m"}},
	{First: "", Kept: []protocol.Group{"x", "x\x00"}},
}

func TestReportComesBackAsItWasSealed(t *testing.T) {
	for _, r := range someReports {
		packet := Append([]byte("before"), letter(3), 9, &r)[6:]
		if len(packet) != Overhead+len(r.appendBody(nil)) {
			t.Errorf("%+v: a packet of %d bytes", r, len(packet))
		}
		if got, err := Open(&letter(3).Key, packet); err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("got %+v, %v, want %+v", got, err, r)
		}
	}
}

func TestSamePacketForTheSameReport(t *testing.T) {
	a, b := Append(nil, letter(1), 7, &someReports[2]), Append(nil, letter(1), 7, &someReports[2])
	if !bytes.Equal(a, b) {
		t.Error("two packets of one report differ")
	}
	if c := Append(nil, letter(1), 7, &someReports[1]); bytes.Equal(a[offNonce:offSealed], c[offNonce:offSealed]) {
		t.Error("two reports have the same nonce under one key")
	}
}

func TestNothingOfAPacketCanBeChanged(t *testing.T) {
	packet := Append(nil, letter(1), 7, &someReports[2])
	for i := range packet {
		changed := bytes.Clone(packet)
		changed[i] ^= 1
		if r, err := Open(&letter(1).Key, changed); err == nil {
			t.Errorf("byte %d was changed, and the packet opens as %+v", i, r)
		}
	}
	for n := range packet {
		if _, err := Open(&letter(1).Key, bytes.Clone(packet[:n])); err == nil {
			t.Errorf("the first %d bytes open", n)
		}
	}
	if _, err := Open(&letter(2).Key, bytes.Clone(packet)); err == nil {
		t.Error("it opens under another key")
	}
}

func TestReportsThatContradictThemselvesAreMalformed(t *testing.T) {
	for _, r := range []Report{
		{First: "b", Last: "a"},
		{First: "b", Kept: []protocol.Group{"a"}},
		{Last: "b", Kept: []protocol.Group{"c"}},
		{Kept: []protocol.Group{"b", "a"}},
		{Kept: []protocol.Group{"a", "a"}},
		{Kept: []protocol.Group{""}},
		{First: "\xff"},
	} {
		if got, err := Open(&letter(1).Key, Append(nil, letter(1), 7, &r)); err == nil {
			t.Errorf("%+v was taken as %+v", r, got)
		}
	}
	for _, body := range [][]byte{{}, {0}, {5, 'a'}, {0, 0, 0x81, 0, 'a'}, bytes.Repeat([]byte{0xff}, 20)} {
		if got, err := parseBody(body); err == nil {
			t.Errorf("%x was taken as %+v", body, got)
		}
	}
}

func TestCoversWhatIsInTheRangeAndNotKept(t *testing.T) {
	r := Report{First: "b", Last: "m", Kept: []protocol.Group{"b", "f"}}
	for g, want := range map[protocol.Group]bool{"a": false, "b": false, "c": true, "f": false, "m": true, "m\x00": false, "z": false} {
		if r.Covers(g) != want {
			t.Errorf("%q: released %v, want %v", g, !want, want)
		}
	}
	if r := (Report{}); !r.Covers("anything") {
		t.Error("a report about all names does not release one")
	}
}

// names draws different names in ascending order, some of them as long as no packet has room for.
func names(dice *rand.Rand, n, longest int) []protocol.Group {
	var out []protocol.Group
	for range n {
		out = append(out, protocol.Group(fmt.Sprintf("%c%s%d", 'a'+dice.IntN(26), strings.Repeat("x", dice.IntN(longest)), dice.IntN(1000))))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestPartsReleaseWhatTheReportDoes(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		limit := 300 + dice.IntN(1200)
		r := Report{Kept: names(dice, dice.IntN(200), 20)}
		if dice.IntN(2) == 0 {
			r.First, r.Last = "c", "w"
			r.Kept = slices.DeleteFunc(r.Kept, func(g protocol.Group) bool { return g < "c" || g > "w" })
		}
		parts := Split(&r, limit)
		for i := range parts {
			packet := Append(nil, letter(1), 7, &parts[i])
			if len(packet) > limit {
				t.Fatalf("part %d of %d has %d bytes, the limit is %d", i, len(parts), len(packet), limit)
			}
			if _, err := Open(&letter(1).Key, packet); err != nil {
				t.Fatalf("part %+v: %v", parts[i], err)
			}
		}
		for _, g := range slices.Concat(names(dice, 50, 20), r.Kept, []protocol.Group{"", "c", "w", "zzzz"}) {
			if got := slices.ContainsFunc(parts, func(p Report) bool { return p.Covers(g) }); got != r.Covers(g) {
				t.Fatalf("limit %d, %+v: the parts release %q: %v, the report %v\n%+v", limit, r, g, got, r.Covers(g), parts)
			}
		}
	}
}

func TestNamesThatFitNoPacketAreKept(t *testing.T) {
	dice := rand.New(rand.NewPCG(2, 2))
	released := 0
	for range 300 {
		r := Report{Kept: names(dice, dice.IntN(60), 300)}
		parts := Split(&r, 512)
		for i := range parts {
			if packet := Append(nil, letter(1), 7, &parts[i]); len(packet) > 512 {
				t.Fatalf("part %d has %d bytes", i, len(packet))
			}
			for _, g := range r.Kept {
				if parts[i].Covers(g) {
					t.Fatalf("a part releases %q, which the report keeps", g)
				}
			}
			for _, g := range names(dice, 20, 20) {
				if parts[i].Covers(g) {
					released++
				}
			}
		}
	}
	if released == 0 {
		t.Error("the parts release nothing")
	}
}

// FuzzOpen gives packets from anywhere: none opens but one that was sealed, and none makes it panic.
func FuzzOpen(f *testing.F) {
	for _, r := range someReports {
		f.Add(Append(nil, letter(1), 7, &r))
	}
	f.Fuzz(func(t *testing.T, packet []byte) {
		clear := bytes.Clone(packet)
		r, err := Open(&letter(1).Key, clear)
		if err != nil {
			return
		}
		l := letter(1)
		copy(l.Head[:], packet)
		if again := Append(nil, l, binary.BigEndian.Uint64(packet[HeadSize:]), &r); !bytes.Equal(again, packet) {
			t.Errorf("%x opens as %+v, which is sealed as %x", packet, r, again)
		}
	})
}

// FuzzBody gives what a holder of the key may seal: each report has one encoding, and covers no name that it keeps.
func FuzzBody(f *testing.F) {
	for _, r := range someReports {
		f.Add(r.appendBody(nil))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := parseBody(body)
		if err != nil {
			return
		}
		if again := r.appendBody(nil); !bytes.Equal(again, body) {
			t.Errorf("%x is %+v, which is written as %x", body, r, again)
		}
		for _, g := range r.Kept {
			if r.Covers(g) {
				t.Errorf("%+v releases %q", r, g)
			}
		}
		for _, p := range Split(&r, 512) {
			if size := p.size() + nameSize(p.Last); size > 512 {
				t.Errorf("a part of %d bytes", size)
			}
		}
	})
}
