package record

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
)

func sample() Record {
	r := Record{Council: protocol.CouncilID{0xc0, 15: 0xde}, Inc: 7, Ceiling: 1<<20 + 5, Longest: 200 * time.Millisecond, Lock: 120 * time.Millisecond, Promised: 250 * time.Millisecond, Epoch: 3, Clean: true,
		Wedge: []byte("w"), View: []byte{1, 2, 3}}
	for i := range r.Digest {
		r.Digest[i] = byte(i)
	}
	r.Origin = Origin{Machine: [8]byte{0xa1, 7: 0xa2}, Directory: [8]byte{0xb1, 7: 0xb2}, Identity: [8]byte{0xc1, 7: 0xc2}}
	return r
}

// The encoding is on people's disks: these bytes never change for version 6.
func TestGoldenVectors(t *testing.T) {
	s := sample()
	for _, c := range []struct {
		name string
		rec  Record
		want string
	}{
		{"zero", Record{}, "52474e5406" + strings.Repeat("00", 16+8+8+8+8+8+8+32+24+1+4+4) + "bfc5491b"},
		{"full", s, "52474e5406" + "c00000000000000000000000000000de" + "0000000000000007" + "0000000000100005" + "00000000" + "0bebc200" + "0000000007270e00" + "000000000ee6b280" + "0000000000000003" +
			"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f" + "a1000000000000a2" + "b1000000000000b2" + "c1000000000000c2" + "01" + "0000000177" + "00000003010203" + "6dcf4cfe"},
	} {
		if got := hex.EncodeToString(c.rec.Append(nil)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestDecodeReadsWhatAppendWrote(t *testing.T) {
	for _, r := range []Record{{}, sample(), {Inc: 7, Void: true}, {Inc: protocol.MaxInc, Ceiling: 1<<64 - 1, Longest: 1<<63 - 1, Lock: 1<<63 - 1, Promised: 1<<63 - 1}} {
		got, err := Decode(r.Append([]byte("prefix"))[6:])
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("got %+v, %v; want %+v", got, err, r)
		}
	}
}

// A torn or altered record must never pass for a record: it would be believed.
func TestEveryChangedByteIsNoticed(t *testing.T) {
	s := sample()
	good := s.Append(nil)
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 0x40
		if _, err := Decode(bad); !errors.Is(err, ErrDamaged) {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
	for n := range good {
		if _, err := Decode(good[:n]); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	if _, err := Decode(append(append([]byte(nil), good...), 0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("a byte too many: %v", err)
	}
}

// A record of a newer or an older program is not a lost one: forgetting it would throw away what it knows.
func TestNeighbouringVersionsAreRefusedButNotDamaged(t *testing.T) {
	r := sample()
	for _, other := range []byte{version - 1, version + 1} {
		b := r.Append(nil)
		b[atVersion] = other
		if other < version {
			b = append(b[:atEpoch], b[atEpoch+4:]...) // version 5 had a shorter epoch
		}
		b = reseal(b)
		if _, err := Decode(b); err == nil || errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprintf("version %d: this program reads version 6 only", other)) {
			t.Errorf("version %d: got %v", other, err)
		}
	}
	// The shortest that version 1 wrote.
	if _, err := Decode(reseal(append([]byte("RGNT\x01"), make([]byte, 4+8+8+8+4+32+1+4+4+4)...))); err == nil || errors.Is(err, ErrDamaged) {
		t.Errorf("an empty record of version 1: %v", err)
	}
}

// nonsense is what no record holds, though its checksum is right.
var nonsense = map[string]func([]byte){
	"note":    func(b []byte) { b[fixed-1] = 3 },
	"inc":     func(b []byte) { b[atInc] = 0x80 },
	"longest": func(b []byte) { b[atLongest] = 0x80 },
	"lock":    func(b []byte) { b[atLock] = 0x80 },
	"blob":    func(b []byte) { b[fixed] = 1 },
	"last":    func(b []byte) { b[fixed+3], b[fixed+4] = 0, 0 },
}

func TestWhollySealedNonsenseIsDamaged(t *testing.T) {
	r := sample()
	for name, spoil := range nonsense {
		b := r.Append(nil)
		spoil(b)
		if _, err := Decode(reseal(b)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	s := sample()
	f.Add(s.Append(nil))
	f.Add((&Record{}).Append(nil))
	f.Add((&Record{Clean: true}).Append(nil))
	f.Add((&Record{Void: true}).Append(nil))
	f.Add(append((&Record{}).Append(nil), 0))
	f.Add([]byte("RGNT\x05 short"))
	f.Add((&Record{}).Append(nil)[:fixed+2*lengthSize+2])
	for _, name := range slices.Sorted(maps.Keys(nonsense)) {
		b := s.Append(nil)
		nonsense[name](b)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, in := range [][]byte{b, reseal(b)} {
			r, err := Decode(in)
			if err == nil && string(r.Append(nil)) != string(in) {
				t.Fatalf("%x decodes to %+v, which encodes to %x", in, r, r.Append(nil))
			}
		}
	})
}

// reseal gives b a right checksum, so that what lies behind it is tested too.
func reseal(b []byte) []byte {
	if len(b) < 4 {
		return b
	}
	return seal(append([]byte(nil), b[:len(b)-4]...), 0)
}

func TestReplaceViewIsEncodingWithAnotherView(t *testing.T) {
	for _, wedge := range []string{"", "wedge"} {
		for _, old := range []string{"", "an old view"} {
			for _, view := range []string{"", "v", "a view that is longer than the old one"} {
				r := Record{Inc: 3, Ceiling: 1 << 40, Longest: time.Second, Epoch: 2, Clean: true, Wedge: []byte(wedge), View: []byte(old)}
				got := ReplaceView(r.Append(nil), []byte(view))
				r.View = []byte(view)
				if want := r.Append(nil); !bytes.Equal(got, want) {
					t.Errorf("wedge %q, view %q for %q: %x, want %x", wedge, view, old, got, want)
				}
			}
		}
	}
}
