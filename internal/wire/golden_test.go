package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/lease"
	"github.com/regentproject/regent/internal/protocol/order"
	"github.com/regentproject/regent/internal/protocol/rank"
)

var update = flag.Bool("update", false, "rewrite golden files and the table in docs/wire.md")

// A vector is one packet with everything that it was made of. Other implementations can be held against it.
type vector struct {
	Name string `json:"name"`
	Key  string `json:"key"`
	// Sender and Receiver are the members' names and private keys. A second implementation has one of the two.
	Sender   vectorMember `json:"sender"`
	Receiver vectorMember `json:"receiver"`
	Council  string       `json:"council"`
	Start    string       `json:"start"`
	Members  int          `json:"members"`
	Epoch    uint64       `json:"epoch"`
	Digest   string       `json:"digest"`
	Header   struct {
		From, To     protocol.Ident
		Seq          uint64
		Sent         protocol.Time
		EchoSent     protocol.Time
		EchoReceived protocol.Time
		Path         uint8
	} `json:"header"`
	Payload string `json:"payload"`
	Packet  string `json:"packet"`
	// Reason and Messages are what the receiver makes of it.
	Reason   string         `json:"reason"`
	Messages []namedMessage `json:"messages,omitempty"`
	Summary  *Summary       `json:"summary,omitempty"`
	Diff     []string       `json:"differences,omitempty"`
	Batch    []Message      `json:"-"`
}

// A vectorMember is a member with its private key.
type vectorMember struct {
	Name    string `json:"name"`
	Private string `json:"private"`
}

func vectorOf(r protocol.Rank) vectorMember {
	key := private(r, 0)
	return vectorMember{nameOf(r), hex.EncodeToString(key[:])}
}

type namedMessage struct {
	Channel uint32           `json:"channel"`
	Name    string           `json:"name"`
	Message protocol.Message `json:"message"`
}

// receiverStart are the random bits that the receiver of the vectors drew.
const receiverStart = "0123456789abcdef"

// golden are the inputs of the vectors.
func golden() []*vector {
	make := func(name string, change func(v *vector)) *vector {
		v := &vector{Name: name, Key: hex.EncodeToString(testKey), Sender: vectorOf(0), Receiver: vectorOf(1), Council: testCouncil.String(), Start: "000102030405060708090a0b0c0d0e0f", Members: 3, Epoch: 7,
			Digest: summaryOf("").Digest().String()}
		v.Header.From, v.Header.To = protocol.Ident{Rank: 0, Inc: 5}, protocol.Ident{Rank: 1, Inc: 9}
		v.Header.Seq, v.Header.Sent, v.Header.EchoSent, v.Header.EchoReceived, v.Header.Path = 1, 1_000_000_007, 900_000_011, 950_000_013, 2
		change(v)
		return v
	}
	return []*vector{
		make("a probe: no messages", func(v *vector) {}),
		make("two messages on two channels", func(v *vector) {
			v.Batch = []Message{{0, &rank.OK{Seq: 1}}, {300, &rank.OK{Seq: 1 << 40}}}
		}),
		make("a request for promises of two lengths", func(v *vector) {
			v.Batch = []Message{{0, &lease.Request{Epoch: 7, Digest: 9, Seq: 3, Delta: 200e6, More: []lease.Ask{{Length: 5e9, Delta: 5e9 + 10e3}},
				Claims: []lease.Claim{{Group: "billing", Tenure: 1, Term: 8, Length: 5e9}, {Group: "locks", Tenure: 2, Term: 4}}}}}
		}),
		make("its answer", func(v *vector) {
			v.Batch = []Message{{0, &lease.OK{Seq: 3, Gen: 1, At: 1_000_000_007, Asker: 9, More: []lease.Kept{{Length: 5e9, Gen: 2}},
				Results: []lease.Result{{Group: "billing", Term: 8, Known: 8}, {Group: "locks", Term: 4, Known: 6, Code: lease.Low}}}}}
		}),
		make("an order of an operator: the question for a ticket", func(v *vector) {
			v.Batch = []Message{{5, &order.Ask{ID: 7}}}
		}),
		make("the ticket", func(v *vector) {
			v.Batch = []Message{{5, &order.Ticket{For: 9, ID: 7, Number: 1_000_000_007}}}
		}),
		make("the order, and another one whose outcome is asked for", func(v *vector) {
			v.Batch = []Message{{5, &order.Do{For: 9, Number: 1_000_000_007, Body: []byte(`{"at":"b","action":"resign","group":"billing","body":{}}`)}}, {5, &order.Do{For: 9, Number: 900_000_011}}}
		}),
		make("the outcome, and that of one that is being executed", func(v *vector) {
			v.Batch = []Message{{5, &order.Told{For: 9, Number: 1_000_000_007, State: order.Done, Body: []byte(`{"status":200,"body":{"group":"billing","leader":"a","token":9}}`)}},
				{5, &order.Told{For: 9, Number: 900_000_011, State: order.Running}}}
		}),
		make("another council with the same key", func(v *vector) {
			v.Council, v.Batch = protocol.CouncilID{0xbe, 0xef}.String(), []Message{{0, &rank.OK{Seq: 1}}}
		}),
		make("for another incarnation", func(v *vector) {
			v.Header.To.Inc, v.Batch = 8, []Message{{0, &rank.OK{Seq: 1}}}
		}),
		make("another configuration: an introduction", func(v *vector) {
			v.Summary = NewSummary("a").Set("members", "a b c").Set("quorum", "3 of 3").Set("rho", "0.001")
			v.Digest = v.Summary.Digest().String()
		}),
	}
}

// seal computes payload and packet of a vector.
func (v *vector) seal(t *testing.T) []byte {
	t.Helper()
	unhex := func(s string) []byte {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	e, err := NewEndpoint(0, Config{Config: judge(v.Header.From, v.Epoch, Digest(unhex(v.Digest))),
		Pairs: pairsOf(t, 0, 3, ringOf(t, unhex(v.Key))), ID: protocol.CouncilID(unhex(v.Council)), Random: bytes.NewReader(unhex(v.Start))})
	if err != nil {
		t.Fatal(err)
	}
	b := e.NewBatch()
	for _, m := range v.Batch {
		if err := b.Add(m.Channel, m.Message); err != nil {
			t.Fatal(err)
		}
	}
	payload, _ := b.Next()
	d := &datagram.Header{From: v.Header.From, Start: e.start, Council: e.council, To: v.Header.To, ToStart: datagram.Start([]byte(receiverStart)).Prefix(), Seq: v.Header.Seq, Sent: v.Header.Sent,
		Echo: datagram.Echo{Sent: v.Header.EchoSent, Received: v.Header.EchoReceived}}
	var packet []byte
	if v.Summary != nil {
		body, _ := v.Summary.encode()
		payload = appendItem(nil, itemSummary, 0, body)
		packet, err = e.Introduce(nil, d, v.Header.Path, v.Summary)
	} else {
		packet, err = e.Seal(nil, d, v.Header.Path, payload)
	}
	if err != nil {
		t.Fatal(err)
	}
	v.Payload, v.Packet = hex.EncodeToString(payload), hex.EncodeToString(packet)
	return packet
}

func TestGoldenVectors(t *testing.T) {
	var all []*vector
	for _, v := range golden() {
		packet := v.seal(t)
		b, err := NewEndpoint(0, Config{Config: judge(protocol.Ident{Rank: 1, Inc: 9}, v.Epoch, summaryOf("").Digest()),
			Pairs: pairsOf(t, 1, 3, ringOf(t, testKey)), ID: testCouncil, Random: bytes.NewReader([]byte(receiverStart))})
		if err != nil {
			t.Fatal(err)
		}
		r, p := open(b, packet)
		v.Reason = r.String()
		for _, m := range p.Messages {
			v.Messages = append(v.Messages, namedMessage{m.Channel, m.Name(), m.Message})
		}
		if p.Summary != nil {
			for _, d := range summaryOf("b").Diff(p.Summary) {
				v.Diff = append(v.Diff, d.String())
			}
		}
		all = append(all, v)
	}
	got, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	compare(t, filepath.Join("testdata", "vectors.json"), append(got, '\n'))
}

// compare holds a file against what it should be, or rewrites it.
func compare(t *testing.T, file string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from what the code says; if that is right, run go test ./internal/wire -update and read the diff.\nwant:\n%s", file, want)
	}
}
