package sim_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/stamp"
	"github.com/regentproject/regent/sim"
)

// traceOf runs five members of rank through faults, and returns the trace.
func traceOf(t *testing.T, seed uint64) []byte {
	t.Helper()
	w := newWorld(t, sim.Config{
		Members: 5, Seed: seed, Messages: true, Words: true,
		Link:   sim.Link{Delay: sim.Delay{Min: ms, Max: 30 * ms, Tail: sim.Percent(5), TailStep: 20 * ms}, Loss: sim.Percent(10), Duplicate: sim.Percent(5)},
		Timer:  sim.Between(0, ms),
		Clocks: []sim.ClockSpec{{Rate: 1_000_000}, {Rate: -1_000_000, Offset: 12345}},
	})
	w.Schedule(
		sim.Fault{At: sim.Real(time.Second), Kind: sim.Crash, A: sim.TheLeader, For: time.Second},
		sim.Fault{At: sim.Real(1500 * ms), Kind: sim.Pause, A: 1, For: time.Second},
		sim.Fault{At: sim.Real(2 * time.Second), Kind: sim.Partition, Side: protocol.NewSet(0, 3), For: time.Second},
	)
	var out bytes.Buffer
	trace := sim.NewTrace(&out)
	w.Observe(trace)
	run(t, w, 5*time.Second)
	if err := trace.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestSameSeedGivesTheSameTraceByteForByte(t *testing.T) {
	first := traceOf(t, 7)
	if len(first) < 100_000 {
		t.Fatalf("the trace has only %d bytes", len(first))
	}
	if !bytes.Equal(first, traceOf(t, 7)) {
		t.Error("SIM-SEED: two runs of one seed differ")
	}
	if bytes.Equal(first, traceOf(t, 8)) {
		t.Error("SIM-SEED: two seeds give the same trace")
	}
}

func TestEveryLineOfATraceIsAnObjectInTheOrderOfTime(t *testing.T) {
	last := int64(0)
	for line := range strings.Lines(string(traceOf(t, 9))) {
		var r struct {
			T  *int64
			Ev string
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if r.T == nil || r.Ev == "" || *r.T < last {
			t.Fatalf("after %d: %s", last, line)
		}
		last = *r.T
	}
}

func TestTraceLines(t *testing.T) {
	b, c := protocol.Ident{Rank: 1, Inc: 2}, protocol.Ident{Rank: 2}
	at := func(f protocol.Fact) sim.Record { return sim.Record{T: 5, Node: 0, Inc: 3, Fact: f} }
	for _, test := range []struct {
		record sim.Record
		want   string
	}{
		{at(protocol.Fact{Ev: protocol.EvWeak, Peer: b}),
			`{"t":5,"node":"a","inc":3,"dom":"elector","ev":"weak","peer":"b","peerinc":2}`},
		{at(protocol.Fact{Ev: protocol.EvWeak, Peer: protocol.NoIdent}),
			`{"t":5,"node":"a","inc":3,"dom":"elector","ev":"weak","peer":"nobody"}`},
		{at(protocol.Fact{Ev: protocol.EvSuspect, Peer: protocol.Ident{}}),
			`{"t":5,"node":"a","inc":3,"dom":"elector","ev":"suspect","peer":"a"}`},
		{at(protocol.Fact{Ev: protocol.EvCount, Peer: protocol.Ident{}, Seq: 7}),
			`{"t":5,"node":"a","inc":3,"dom":"elector","ev":"count","peer":"a","seq":7}`},
		{at(protocol.Fact{Ev: protocol.EvGrant, Dom: protocol.Local, Peer: protocol.Ident{}, Seq: 7}),
			`{"t":5,"node":"a","inc":3,"dom":"local","ev":"grant","peer":"a","seq":7}`},
		{at(protocol.Fact{Ev: protocol.EvPromise, Dom: protocol.Quorum, Peer: c, Gen: 1, Until: 9}),
			`{"t":5,"node":"a","inc":3,"dom":"quorum","ev":"promise","peer":"c","gen":1,"until":9}`},
		{at(protocol.Fact{Ev: protocol.EvLease, Dom: protocol.Quorum, Group: `g"`, Term: 4, Tenure: 1, Start: 1, Until: 9, Members: protocol.NewSet(0, 2), Detail: stamp.Quorum{{Voter: 1, Inc: 2, Clock: 3}}}),
			`{"t":5,"node":"a","inc":3,"group":"g\"","dom":"quorum","ev":"lease","term":4,"tenure":1,"start":1,"until":9,"members":["a","c"],"detail":"1/2@3"}`},
		{at(protocol.Fact{Ev: sim.EvCrash}), `{"t":5,"node":"a","inc":3,"ev":"crash"}`},
		{at(protocol.Fact{Ev: sim.EvView, Peer: b, Until: protocol.Never, Why: "elected b", Detail: &protocol.View{Stop: true, Horizon: 2}}),
			`{"t":5,"node":"a","inc":3,"dom":"elector","ev":"view","peer":"b","peerinc":2,"why":"elected b","horizon":2,"stop":true}`},
		{at(protocol.Fact{Ev: sim.EvFault, Peer: protocol.NoIdent, Why: "cut", Detail: sim.Fault{Kind: sim.Cut, A: 0, B: 1, For: time.Second}}),
			`{"t":5,"node":"a","inc":3,"ev":"fault","why":"cut","detail":"cut a b for 1s"}`},
		{at(protocol.Fact{Ev: sim.EvHeal, Peer: protocol.Ident{}, Why: "slow"}), `{"t":5,"node":"a","inc":3,"ev":"heal","peer":"a","why":"slow"}`},
		{at(protocol.Fact{Ev: sim.EvCommand, Peer: protocol.Ident{}, Why: "transfer"}),
			`{"t":5,"node":"a","inc":3,"ev":"command","peer":"a","why":"transfer"}`},
		{at(protocol.Fact{Ev: sim.EvCommand, Peer: protocol.NoIdent, Why: "resign"}), `{"t":5,"node":"a","inc":3,"ev":"command","why":"resign"}`},
		{at(protocol.Fact{Ev: protocol.EvLink, Dom: protocol.Consistent, Peer: protocol.Ident{}, Seq: 1}),
			`{"t":5,"node":"a","inc":3,"dom":"consistent","ev":"link","peer":"a","seq":1}`},
		{sim.Record{T: 5, Node: protocol.Nobody, Fact: protocol.Fact{Ev: sim.EvPhase, Why: sim.Liveness, Members: protocol.NewSet(1)}},
			`{"t":5,"ev":"phase","members":["b"],"why":"liveness"}`},
		{at(protocol.Fact{Ev: sim.EvDeliver, Peer: b, Seq: 8, Why: "rank.OK", Detail: sim.Delivery{Sent: 2, Bound: 4}}),
			`{"t":5,"node":"a","inc":3,"ev":"deliver","peer":"b","peerinc":2,"seq":8,"why":"rank.OK","detail":{"sent":2,"bound":4}}`},
	} {
		got, err := test.record.AppendJSON(nil)
		if err != nil || string(got) != test.want {
			t.Errorf("got  %s, %v\nwant %s", got, err, test.want)
		}
		read, err := sim.ParseRecord([]byte(test.want))
		if err != nil {
			t.Errorf("%s: %v", test.want, err)
			continue
		}
		if got, err := read.AppendJSON(nil); err != nil || string(got) != test.want {
			t.Errorf("read and written again it is %s, %v\nand was %s", got, err, test.want)
		}
	}
}

func TestParseRecordRefusesWhatItCannotKnow(t *testing.T) {
	for _, line := range []string{
		`{"t":1`, `[]`, `{"t":1,"ev":"start","node":"somebody"}`, `{"t":1,"ev":"start","node":"m1000"}`, `{"t":1,"ev":"start","node":"m07"}`,
		`{"t":1,"ev":"weak","node":"a","dom":"x"}`, `{"t":1,"ev":"phase","members":["A"]}`, `{"t":1,"ev":"weak","node":"a","peer":"*"}`,
		`{"t":1,"ev":"lease","node":"a","dom":"quorum","detail":"x"}`, `{"t":1,"ev":"deliver","node":"a","peer":"b","detail":7}`,
	} {
		if r, err := sim.ParseRecord([]byte(line)); err == nil {
			t.Errorf("%s is read as %+v", line, r)
		}
	}
}

func TestAParsedRecordHasWhatALedgerNeeds(t *testing.T) {
	r, err := sim.ParseRecord([]byte(`{"t":5,"node":"m30","inc":3,"dom":"consistent","ev":"view","group":"g","peer":"b","peerinc":2,"horizon":7,"stop":true}`))
	v, ok := r.Detail.(*protocol.View)
	if err != nil || !ok || r.Node != 30 || v.Leader != (protocol.Ident{Rank: 1, Inc: 2}) || v.Horizon != 7 || !v.Stop || v.Domain != protocol.Consistent || v.Group != "g" {
		t.Errorf("the view is %+v, %v", v, err)
	}
	if r, err = sim.ParseRecord([]byte(`{"t":5,"node":"a","inc":3,"ev":"crash"}`)); err != nil || r.Peer != protocol.NoIdent {
		t.Errorf("a crash is about %v, %v", r.Peer, err)
	}
}

func TestDetailThatDoesNotMarshalIsAnError(t *testing.T) {
	r := sim.Record{Fact: protocol.Fact{Ev: "x", Detail: func() {}}}
	if err := sim.NewTrace(&bytes.Buffer{}).Observe(&r); err == nil {
		t.Error("a function was written as JSON")
	}
}

// refuser is an observer that does not like crashes.
type refuser struct{}

func (refuser) Observe(r *sim.Record) error {
	if r.Ev == sim.EvCrash {
		return errCrash
	}
	return nil
}

type crashError struct{}

func (crashError) Error() string { return "a crash" }

var errCrash = crashError{}

func TestObserversErrorEndsTheRunWhereItHappened(t *testing.T) {
	w := newWorld(t, sim.Config{Members: 2, Seed: 1})
	w.Observe(refuser{})
	w.Schedule(sim.Fault{At: sim.Real(time.Second), Kind: sim.Crash, A: 1})
	if err := w.Run(sim.Real(5 * time.Second)); err != errCrash {
		t.Fatalf("got %v", err)
	}
	if w.Now() != sim.Real(time.Second) {
		t.Errorf("the run ended at %v, want 1s", w.Now())
	}
	if err := w.Run(sim.Real(9 * time.Second)); err != errCrash || w.Now() != sim.Real(time.Second) {
		t.Errorf("the world went on to %v after its end", w.Now())
	}
}
