package process

import (
	"net/netip"
	"reflect"
	"testing"

	"github.com/regentproject/regent/internal/obituary"
)

var someVoters = []Voter{
	{Addrs: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:7"), netip.MustParseAddrPort("[fe80::1%eth0]:8")}, Letter: obituary.Letter{Head: [obituary.HeadSize]byte{1}, Key: [obituary.KeySize]byte{2}}},
	{Rank: 3, Addrs: nil, Letter: obituary.Letter{Head: [obituary.HeadSize]byte{3}}},
}

func TestLettersComeBack(t *testing.T) {
	got, err := decode(encode(someVoters))
	if err != nil || !reflect.DeepEqual(got, someVoters) {
		t.Fatalf("got %v, %v", got, err)
	}
}

func TestProgramIsNoLetter(t *testing.T) {
	b := encodeProgram(77)
	if n := decodeProgram(b); n != 77 {
		t.Errorf("tenure %d comes back", n)
	}
	if _, err := decode(b); err == nil {
		t.Error("a program is read as letters")
	}
	if n := decodeProgram(encode(someVoters)); n != 0 {
		t.Errorf("letters are read as the program of tenure %d", n)
	}
}

func FuzzLetters(f *testing.F) {
	whole := encode(someVoters)
	for n := 0; n < len(whole); n += 40 {
		f.Add(whole[:n])
	}
	f.Add(whole)
	f.Fuzz(func(t *testing.T, b []byte) {
		voters, err := decode(b)
		if err != nil {
			return
		}
		again, err := decode(encode(voters))
		if err != nil || !reflect.DeepEqual(again, voters) {
			t.Fatalf("%x: %v, %v", b, again, err)
		}
	})
}
