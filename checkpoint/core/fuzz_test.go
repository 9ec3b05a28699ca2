package core

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/regentproject/regent/checkpoint/code"
)

// received is a message of a member, as it comes over HTTP.
func received(from byte, m Message) []byte {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return append([]byte{from}, b...)
}

// Messages that no member sends, in any order, crash neither the machine nor the vault of a member, and make it go on from no state that it was not sent whole.
// Each line is a member and its message. Shares have the sums that they need: a sum is no secret.
func FuzzMessage(f *testing.F) {
	first, state := Number{1, 1}, []byte("state")
	rs, err := code.New(2, 3)
	if err != nil {
		f.Fatal(err)
	}
	cfg := Config{Members: 3, Data: 2, Coder: rs, Keys: []string{"x"}, Self: 1}
	shares, err := cut(rs, "x", ID{first, 4}, ID{}, 7, state)
	if err != nil {
		f.Fatal(err)
	}
	found := func(i int) Message {
		return Message{Kind: Shares, View: first, Key: "x", Found: Found{Shares: shares[i : i+1]}}
	}
	assign := received(1, Message{Kind: Assign, View: first, Keys: []string{"x"}})
	f.Add(bytes.Join([][]byte{assign, received(0, found(0)), received(1, found(1)), received(2, found(2)),
		received(0, Message{Kind: Stored, View: first, Key: "x", Seq: 4}), received(2, Message{Kind: Spoilt, Keys: []string{"x"}})}, []byte("\n")))
	of := func(size int, data []byte) []byte {
		s := shares[0]
		s.Size, s.Data = size, data
		return received(0, Message{Kind: Shares, View: first, Key: "x", Found: Found{Shares: []Share{s}}})
	}
	for _, size := range []int{-1, 1 << 62, 99} {
		f.Add(bytes.Join([][]byte{assign, of(size, shares[0].Data), received(1, found(1)), received(2, Message{Kind: Shares, View: first, Key: "x"})}, []byte("\n")))
	}
	f.Add(bytes.Join([][]byte{assign, of(5, nil), received(1, found(1)), received(2, Message{Kind: Shares, View: first, Key: "x"})}, []byte("\n")))
	f.Add(bytes.Join([][]byte{received(0, Message{Kind: Answer, View: first}), received(2, Message{Kind: Answer, View: first, Keys: []string{"x", "y"}}), received(0, Message{Kind: Safe, View: first, Stuck: []string{"x"}})}, []byte("\n")))
	f.Add(received(0, Message{Kind: Put, View: first, Key: "x", Share: &shares[1]}))
	f.Fuzz(func(t *testing.T, lines []byte) {
		m := New(cfg)
		m.SetView(Roster{Number: first, Members: 7, Manager: 1})
		v, err := OpenVault(1, memory{}, true)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.SplitSeq(lines, []byte("\n")) {
			var msg Message
			if len(line) == 0 || json.Unmarshal(line[1:], &msg) != nil {
				continue
			}
			if msg.Share != nil {
				msg.Share.Sum = msg.Share.sum(msg.Key)
			}
			for i := range msg.Found.Shares {
				s := &msg.Found.Shares[i]
				s.Sum = s.sum(msg.Key)
			}
			if !msg.ToVault() {
				m.Receive(int(line[0])%cfg.Members, &msg)
			} else if _, _, err := v.Receive(&msg); err != nil {
				t.Fatalf("the vault takes %s for a fault of its disk: %v", line, err)
			}
			v.Scrub()
			m.Tick()
			for _, of := range m.Take().Inherit {
				if !of.Begin && of.State == nil {
					t.Fatalf("goes on from no state: %+v", of)
				}
			}
		}
	})
}
