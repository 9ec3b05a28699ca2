package core

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/regentproject/regent/checkpoint/code"
)

// memory is a disk.
type memory map[string][]byte

func (d memory) List() ([]string, error) { return slices.Sorted(maps.Keys(d)), nil }

func (d memory) Read(name string) ([]byte, error) {
	if b, ok := d[name]; ok {
		return b, nil
	}
	return nil, errors.New("no such file")
}

func (d memory) Write(name string, b []byte) error {
	d[name] = bytes.Clone(b)
	return nil
}

func (d memory) Remove(name string) error {
	delete(d, name)
	return nil
}

func config(t *testing.T, n, k int) Config {
	t.Helper()
	rs, err := code.New(k, n)
	if err != nil {
		t.Fatal(err)
	}
	return Config{Members: n, Data: k, Coder: rs, Keys: []string{"x"}}
}

// checkpointOf returns the shares of a checkpoint that was written in a view of some members.
func checkpointOf(t *testing.T, c Config, token, seq uint64, members Set) []Share {
	t.Helper()
	shares, err := cut(c.Coder, "x", ID{Number{token, 1}, seq}, ID{}, members, fmt.Append(nil, "state ", seq))
	if err != nil {
		t.Fatal(err)
	}
	return shares
}

func TestACheckpointNeedsAsManySharesAsMembersMayStillFailAndK(t *testing.T) {
	for _, c := range []struct{ n, k, members, need int }{
		{7, 4, 7, 7}, {7, 4, 5, 5}, {7, 4, 4, 4}, {7, 3, 7, 6}, {7, 3, 4, 4}, {9, 4, 9, 8}, {9, 4, 5, 5}, {3, 1, 3, 2}, {3, 2, 2, 2}, {1, 1, 1, 1},
	} {
		cfg := Config{Members: c.n, Data: c.k}
		if got := cfg.Need(c.members); got != c.need {
			t.Errorf("%d of %d, view of %d: need %d, want %d", c.k, c.n, c.members, got, c.need)
		}
	}
}

// With any view that may follow, an heir that has read all members of it goes on from what was complete.
func TestAnHeirNeverMissesACompleteCheckpoint(t *testing.T) {
	for _, c := range []Config{config(t, 7, 4), config(t, 7, 3), config(t, 5, 3), config(t, 5, 2)} {
		everyone := Set(1)<<c.Members - 1
		old, latest := checkpointOf(t, c, 1, 4, everyone), checkpointOf(t, c, 2, 8, everyone)
		for kept := range everyone + 1 {
			if kept.Len() < c.Need(c.Members) {
				continue
			}
			for view := range everyone + 1 {
				if view.Len() < c.quorum() {
					continue
				}
				found := make(map[int]Found)
				for m := range view.All() {
					f := Found{Shares: []Share{old[m]}}
					if kept.Has(m) {
						f.Shares = append(f.Shares, latest[m])
					}
					found[m] = f
				}
				got := c.Choose(view, found)
				state, ok := []byte(nil), got.Verdict == Resume
				if ok {
					state, ok = Join(c.Coder, c.Members, got.Shares)
				}
				if !ok || string(state) != "state 8" {
					t.Fatalf("%d of %d: kept by %b, view %b: %v", c.Data, c.Members, kept, view, got.Verdict)
				}
			}
		}
	}
}

func TestAnHeirWaitsForWhatMayBeCompleteAndForNothingElse(t *testing.T) {
	c := config(t, 7, 4)
	everyone := Set(127)
	old, latest := checkpointOf(t, c, 1, 4, everyone), checkpointOf(t, c, 2, 8, Of(0, 1, 2, 3))
	all := func(with ...int) map[int]Found {
		found := make(map[int]Found)
		for m := range everyone.All() {
			f := Found{Shares: []Share{old[m]}}
			if slices.Contains(with, m) {
				f.Shares = append(f.Shares, latest[m])
			}
			found[m] = f
		}
		return found
	}
	lost := all(0, 1, 2)
	lost[3] = Found{Lost: true}
	damaged := all(0, 1, 2)
	damaged[3] = Found{Shares: []Share{old[3]}, Damaged: []ID{latest[3].ID}}
	for _, test := range []struct {
		what  string
		view  Set
		found map[int]Found
		want  Verdict
		seq   uint64
	}{
		{"all that need it have it", everyone, all(0, 1, 2, 3), Resume, 8},
		{"the fourth is away, and may have it", everyone &^ Of(3), all(0, 1, 2), Wait, 8},
		{"the fourth has lost its disk, and may have had it", everyone, lost, Wait, 8},
		{"the fourth has it, and cannot read it", everyone, damaged, Wait, 8},
		{"the fourth does not have it", everyone, all(0, 1, 2), Resume, 4},
		{"nothing was ever written", everyone, map[int]Found{}, Begin, 0},
	} {
		got := c.Choose(test.view, test.found)
		if got.Verdict != test.want || got.ID.Seq != test.seq {
			t.Errorf("%s: verdict %v at %v, want %v at %d", test.what, got.Verdict, got.ID, test.want, test.seq)
		}
	}
}

func put(c []Share, member int, base ID) *Message {
	return &Message{Kind: Put, View: c[member].View, Key: "x", Share: &c[member], Base: base}
}

func TestAVaultRefusesStaleTokens(t *testing.T) {
	c, disk := config(t, 7, 4), memory{}
	v, err := OpenVault(2, disk, true)
	if err != nil {
		t.Fatal(err)
	}
	old, latest := checkpointOf(t, c, 1, 9, 127), checkpointOf(t, c, 2, 8, 127)
	ask := func(m *Message, want Kind) {
		t.Helper()
		if r, ok, err := v.Receive(m); !ok || err != nil || r.Kind != want {
			t.Errorf("%s of %v: %v %v %v, want %v", m.Kind, m.View, r.Kind, ok, err, want)
		}
	}
	ask(put(old, 2, ID{}), Stored)
	ask(&Message{Kind: Fetch, Key: "x", View: Number{2, 1}}, Shares)
	ask(put(old, 2, ID{}), Refused)
	ask(&Message{Kind: Fetch, Key: "x", View: Number{1, 9}}, Refused)
	ask(&Message{Kind: Look, Key: "x"}, Shares)
	v, err = OpenVault(2, disk, false) // it comes back with its disk
	if err != nil {
		t.Fatal(err)
	}
	ask(put(old, 2, ID{}), Refused)
	ask(put(latest, 2, ID{}), Stored)
	if got := v.Kept("x"); len(got) != 2 {
		t.Errorf("the vault keeps %v: both are needed until the later one is complete", got)
	}
	ask(put(latest, 2, latest[2].ID), Stored)
	if got := v.Kept("x"); len(got) != 1 || got[0] != latest[2].ID {
		t.Errorf("the vault keeps %v", got)
	}
}

func TestAVaultFindsEveryDamagedByteAndTakesTheShareAgain(t *testing.T) {
	c, disk := config(t, 7, 4), memory{}
	v, err := OpenVault(2, disk, true)
	if err != nil {
		t.Fatal(err)
	}
	shares := checkpointOf(t, c, 1, 9, 127)
	if _, _, err := v.Receive(put(shares, 2, ID{})); err != nil {
		t.Fatal(err)
	}
	name := shareName("x", shares[2].ID)
	whole := bytes.Clone(disk[name])
	for i := range whole {
		disk[name] = bytes.Clone(whole)
		disk[name][i] ^= 0x01
		f, _ := v.read("x")
		if len(f.Shares) > 0 && !f.Shares[0].Intact("x") || len(f.Shares) > 0 && !bytes.Equal(f.Shares[0].Data, shares[2].Data) {
			t.Fatalf("a changed share is taken: byte %d", i)
		}
	}
	disk[name] = whole[:len(whole)/2]
	if got := v.Scrub(); !slices.Equal(got, []string{"x"}) {
		t.Errorf("half of a share is there; damaged are %v", got)
	}
	if _, ok, _ := v.Receive(put(shares, 2, ID{})); !ok || len(v.Scrub()) > 0 {
		t.Error("the share is not written again")
	}
}

func TestAVaultWithoutItsMarkDoesNotOpen(t *testing.T) {
	c, disk := config(t, 7, 4), memory{}
	v, _ := OpenVault(2, disk, true)
	if _, _, err := v.Receive(put(checkpointOf(t, c, 1, 9, 127), 2, ID{})); err != nil {
		t.Fatal(err)
	}
	disk["mark-1"][3] ^= 1
	if v, err := OpenVault(2, disk, false); err != nil || v.Mark() != (Number{1, 1}) {
		t.Errorf("one copy is damaged: %v", err)
	}
	disk["mark-2"][3] ^= 1
	if _, err := OpenVault(2, disk, false); !errors.Is(err, ErrMark) {
		t.Errorf("both copies are damaged: %v", err)
	}
}

// A put that the code never made must not crash a vault or a machine.
func FuzzReceive(f *testing.F) {
	f.Add("share-78-1-1-9", []byte(`{"view":{"token":1,"vid":1},"seq":9,"index":2}`))
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		v, err := OpenVault(2, memory{name: content, "mark-1": nil}, true)
		if err != nil {
			return
		}
		v.Scrub()
	})
}
