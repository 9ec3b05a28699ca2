package datagram

import (
	"testing"

	"github.com/regentproject/regent/internal/protocol"
)

// obituary returns the header of a report that a start is dead, as its guardian writes it.
func (w *cluster) obituary(from, to int, top uint64) Header {
	return Header{From: w.e[from].config.Self, Start: w.e[from].config.Start, To: protocol.Ident{Rank: protocol.Rank(to)}, Council: w.e[from].config.Council, Seq: top}
}

func TestObituaryCountsForTheStartThatWasHeardLast(t *testing.T) {
	w := newTown(t, 5, 7, 9)
	w.meet(0, 1)
	top := w.e[0].peers[1].seq
	good := w.obituary(0, 1, top)
	for name, c := range map[string]struct {
		change func(*Header)
		want   Reason
	}{
		"as it is":                  {func(*Header) {}, Obituary},
		"once more":                 {func(*Header) {}, Obituary},
		"numbers that were lost":    {func(h *Header) { h.Seq += 1000 }, Obituary},
		"an earlier incarnation":    {func(h *Header) { h.From.Inc-- }, Unheard},
		"a later incarnation":       {func(h *Header) { h.From.Inc++ }, Unheard},
		"no incarnation":            {func(h *Header) { h.From.Inc = 0 }, Unheard},
		"another start":             {func(h *Header) { h.Start[9]++ }, Unheard},
		"a member that is silent":   {func(h *Header) { h.From = w.e[2].config.Self }, Unheard},
		"of a copy":                 {func(h *Header) { h.Seq = top - 1 }, Rivals},
		"of its receiver":           {func(h *Header) { h.From = w.e[1].config.Self }, Stranger},
		"from beyond":               {func(h *Header) { h.From.Rank = 3 }, Stranger},
		"for another member":        {func(h *Header) { h.To.Rank = 2 }, Misdirected},
		"of another configuration":  {func(h *Header) { h.Council.Digest[0]++ }, Mismatch},
		"of another number of ours": {func(h *Header) { h.Council.Epoch++ }, Obituary},
	} {
		h := good
		c.change(&h)
		before := w.e[1].peers[0]
		if r := w.e[1].JudgeObituary(&h); r != c.want {
			t.Errorf("%s: %v, want %v", name, r, c.want)
		}
		if w.e[1].peers[0] != before {
			t.Errorf("%s: it changed the endpoint", name)
		}
	}
}

// What the dead process had sent may come after the report: its votes stand.
func TestPacketsOfTheDeadAreJudgedAsEver(t *testing.T) {
	w := newTown(t, 5, 7)
	w.meet(0, 1)
	late := w.stamp(0, 1)
	h := w.obituary(0, 1, late.Seq)
	if r := w.e[1].JudgeObituary(&h); r != Obituary {
		t.Fatalf("the report is %v", r)
	}
	w.pass(ms)
	w.want(w.accept(1, late), Accepted)
}
