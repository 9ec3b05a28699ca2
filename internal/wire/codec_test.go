package wire

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
)

func decodeHex(t *testing.T, number Number, text string) (protocol.Message, error) {
	t.Helper()
	body, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	p := newPool(testTable)
	return p.rows[number].decode(p, body)
}

func TestBodiesAreDeterministic(t *testing.T) {
	var b bytes.Buffer
	if _, err := testTable.append(&b, &note{Text: "hi", Count: 1000, Delta: -1, Members: protocol.NewSet(0, 2), Lines: []line{{"g", 7}}, Of: protocol.Ident{Rank: 1, Inc: 2}}); err != nil {
		t.Fatal(err)
	}
	const want = "a6" + "01 626869" + "02 1903e8" + "03 20" + "05 4105" + "07 81 a2 01 6167 02 07" + "08 a2 01 01 02 02"
	if got := hex.EncodeToString(b.Bytes()); got != strings.ReplaceAll(want, " ", "") {
		t.Errorf("body %s, want %s", got, want)
	}
	b.Reset()
	if _, err := testTable.append(&b, &note{}); err != nil || b.Len() != 1 || b.Bytes()[0] != 0xa0 {
		t.Errorf("a message of zeros is %x, %v", b.Bytes(), err)
	}
}

func TestStrictDecoding(t *testing.T) {
	for name, body := range map[string]string{
		"nothing":                  "",
		"not a map":                "80",
		"a number":                 "01",
		"something after it":       "a0 00",
		"cut off":                  "a1 01 62 68",
		"the same key twice":       "a2 02 01 02 02",
		"an unknown key twice":     "a2 18 32 01 18 32 02",
		"a map without a length":   "bf ff",
		"a string without one":     "a1 01 7f ff",
		"an array without one":     "a1 07 9f ff",
		"a tag":                    "a1 02 c1 01",
		"text that is not UTF-8":   "a1 01 61 ff",
		"a negative count":         "a1 02 20",
		"a count beyond 64 bits":   "a1 02 c2 49 010000000000000000",
		"a float":                  "a1 02 f9 3c00",
		"text for a number":        "a1 02 61 31",
		"a set with a zero at end": "a1 05 42 0100",
		"a set that is too large":  "a1 05 587e" + strings.Repeat("01", 126),
		"nested too deep":          "a1 18 32" + strings.Repeat("81", 20) + "01",
		"an array too long":        "a1 18 32 9a 00010000" + strings.Repeat("01", 1<<16),
		"an array that lies":       "a1 07 9b 00ffffffffffffff",
		"a map that lies":          "bb 00ffffffffffffff",
	} {
		if m, err := decodeHex(t, 20, body); err == nil {
			t.Errorf("%s: taken for %+v", name, m)
		}
	}
}

// A newer build may add a field that an older can do without.
func TestUnknownFieldsAreSkipped(t *testing.T) {
	m, err := decodeHex(t, 20, "a3 01 626869 18 32 83 01 02 a1 61 61 f5 02 05")
	if err == nil {
		t.Logf("%+v", m)
	}
	if n, ok := m.(*note); err != nil || !ok || n.Text != "hi" || n.Count != 5 {
		t.Errorf("%+v, %v", m, err)
	}
}

// A newer build may send messages that an older does not know.
func TestUnknownMessagesAreSkipped(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	payload := appendItem(nil, 99, 0, []byte("whatever"))
	payload = append(payload, payloadOf(t, a, &hot{Seq: 3})...)
	p := expect(t, b, seal(t, a, stamped(a, b, 1), payload), datagram.Accepted)
	if len(p.Messages) != 1 || b.Counts().Unknown != 1 {
		t.Errorf("%d messages, %d skipped", len(p.Messages), b.Counts().Unknown)
	}
}

// One bad item spoils the packet: nothing before it is delivered, and nothing is remembered.
func TestMalformedPayloadsAreDroppedWhole(t *testing.T) {
	a := endpoint(t, 0, 5)
	good := payloadOf(t, a, &hot{Seq: 3})
	summary, err := summaryOf("a").encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{
		"a body that does not decode": appendItem(nil, 20, 0, []byte{0xff}),
		"an item that is cut off":     {20, 0, 9, 0xa0},
		"a number that is cut off":    {0x80},
		"a number in a long form":     {0x94, 0x00, 0, 0},
		"a number beyond 64 bits":     bytes.Repeat([]byte{0xff}, 11),
		"a channel that is too large": {20, 0xff, 0xff, 0xff, 0xff, 0x7f, 0},
		"a fragment without parts":    appendItem(nil, itemFragment, 0, []byte{1, 0, 0, 20, 1}),
		"a fragment of one part":      appendItem(nil, itemFragment, 0, []byte{1, 0, 1, 20, 1}),
		"a part beyond the last":      appendItem(nil, itemFragment, 0, []byte{1, 2, 2, 20, 1}),
		"a part without data":         appendItem(nil, itemFragment, 0, []byte{1, 0, 2, 20}),
		"a fragment of a fragment":    appendItem(nil, itemFragment, 0, []byte{1, 0, 2, itemFragment, 1}),
		"a summary beside messages":   appendItem(nil, itemSummary, 0, summary),
		"too many items":              bytes.Repeat(appendItem(nil, 99, 0, nil), maxItems),
	} {
		t.Run(name, func(t *testing.T) {
			a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
			before := state(b)
			p := expect(t, b, seal(t, a, stamped(a, b, 1), append(bytes.Clone(good), bad...)), datagram.Malformed)
			if len(p.Messages) != 0 {
				t.Errorf("messages %v of a malformed packet were taken", p.Messages)
			}
			if after := state(b); after != before {
				t.Errorf("a malformed packet changed the endpoint from\n%s to\n%s", before, after)
			}
		})
	}
}

func TestPacketZeroIsMalformed(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	// An honest endpoint does not seal it.
	mine, theirs := private(0, 0).Public().ID(), private(1, 0).Public().ID()
	aead := a.derive.aead(1, lane{out: true}, stamped(a, b, 0))
	h := header{version: 2, lowest: 2, highest: 2, keys: memberKeys{mine, theirs, theirs}, key: a.derive.pairs.ring.keys[0].id, council: a.derive.tags[0], mark: new(marks).of(aead, 0)}
	packet := appendStamps(appendHeader(nil, &h, stamped(a, b, 0)), stamped(a, b, 0))
	packet = aead.Seal(packet[:headerSize], make([]byte, 12), packet[headerSize:], packet[:headerSize])
	expect(t, b, packet, datagram.Malformed)
}

// Messages are decoded into memory that was used before. What a body leaves out must not show what was there.
func TestReusedMessagesKeepNothing(t *testing.T) {
	a, b := endpoint(t, 0, 5), endpoint(t, 1, 9)
	full := &note{Text: "x", Count: 1, Delta: 1, Yes: true, Members: protocol.Everyone(9), Data: []byte("data"), Lines: []line{{"g", 1}, {"h", 2}}, Of: protocol.Ident{Rank: 1, Inc: 1}}
	var p Packet
	var first protocol.Message
	for seq, m := range []*note{full, {}, {Lines: []line{{}, {Term: 3}}}} {
		if r := b.Open(0, send(t, a, b, uint64(seq+1), m), &p).Reason; r != datagram.Accepted {
			t.Fatal(r)
		}
		got := p.Messages[0].Message.(*note)
		if first == nil {
			first = got
		} else if first != got {
			t.Fatal("the memory of a message is not used again")
		}
		if len(got.Data) == 0 {
			got.Data = nil
		}
		if len(got.Lines) == 0 {
			got.Lines = nil
		}
		if !reflect.DeepEqual(got, m) {
			t.Errorf("message %d is %+v, want %+v", seq, got, m)
		}
	}
}

func TestMirrorRefusesWhatHasNoEncoding(t *testing.T) {
	for want, v := range map[string]any{
		"no map":       struct{ A map[string]int }{},
		"no ptr":       struct{ A []struct{ B *int } }{},
		"no interface": struct{ A any }{},
		"no float64":   struct{ A [2]float64 }{},
		"no func":      struct{ A func() }{},
		`key "x"`: struct {
			A int `wire:"x"`
		}{},
		"key 1 is that of \"A\"": struct {
			A int
			B int `wire:"1"`
		}{},
		"above 64": struct {
			A int `wire:"64"`
			B int
		}{},
	} {
		if m, err := mirror(reflect.TypeOf(v)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v, error %v; want one with %q", v, m, err, want)
		}
	}
}

func TestMirrorTakesKeysFromPlacesAndTags(t *testing.T) {
	type moved struct {
		A int
		b int
		B int `wire:"5"`
		C int
	}
	keys, err := fieldKeys(reflect.TypeFor[moved]())
	if want := []int{1, 0, 5, 6}; err != nil || !reflect.DeepEqual(keys, want) {
		t.Errorf("keys %v, %v; want %v", keys, err, want)
	}
	_ = moved{}.b
}

func TestTableRefusesDoubles(t *testing.T) {
	for name, types := range map[string][]Type{
		"number":   {{Number: 20, Message: (*note)(nil)}, {Number: 20, Message: (*hot)(nil)}},
		"type":     {{Number: 20, Message: (*note)(nil)}, {Number: 21, Message: (*note)(nil)}},
		"reserved": {{Number: itemSummary, Message: (*note)(nil)}},
		"nothing":  {{Number: 20}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: the table was made", name)
				}
			}()
			newTable(types)
		}()
	}
}
