package wire

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/datagram"
	"github.com/regentproject/regent/internal/protocol"
	"github.com/regentproject/regent/internal/protocol/council"
)

// someConfig returns a configuration of two members.
func someConfig(number uint64) *council.Config {
	return &council.Config{Council: testCouncil, Number: number, Terms: council.Terms{Longest: 1e9, Rho: protocol.DefaultRho}, Members: []council.Member{
		{Seat: 0, Name: "a", Birth: council.Birth{1}, Key: "k", Addrs: []string{"a:1"}, Priority: -3, Role: council.Leader},
		{Seat: 4, Name: "é", Birth: council.Birth{2}, Role: council.Observer, Guest: true}}}
}

// fill gives every field that travels a value that is not zero.
func fill(r *rand.Rand, v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[protocol.Set]():
		v.Set(reflect.ValueOf(protocol.NewSet(protocol.Rank(r.IntN(protocol.MaxMembers)))))
		return
	case v.Type() == reflect.TypeFor[*council.Config]():
		v.Set(reflect.ValueOf(someConfig(r.Uint64() >> 1)))
		return
	case opaque(v.Type()):
		panic(fmt.Sprintf("teach this test to fill a %v", v.Type()))
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(fmt.Sprintf("é%d", r.Uint64()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+r.IntN(3), 4))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(r, v.Field(i))
			}
		}
	default:
		if v.CanInt() {
			v.SetInt(int64(r.Uint64()) >> (64 - v.Type().Bits()) >> r.IntN(v.Type().Bits()))
		} else {
			v.SetUint(r.Uint64() >> (64 - v.Type().Bits()) >> r.IntN(v.Type().Bits()))
		}
		if v.IsZero() {
			v.Set(reflect.ValueOf(1).Convert(v.Type()))
		}
	}
}

// Every field of every message in the table arrives as it was sent, and a copy shares nothing with what it was made of.
func TestEveryMessageComesThroughWhole(t *testing.T) {
	all := func(c *Config) { c.table = messages }
	for _, row := range Types {
		t.Run(row.Message.Name(), func(t *testing.T) {
			a, b := endpoint(t, 0, 5, all), endpoint(t, 1, 9, all)
			r := rand.New(rand.NewPCG(1, uint64(row.Number)))
			var p Packet
			for seq := range uint64(50) {
				v := reflect.New(reflect.TypeOf(row.Message).Elem())
				fill(r, v.Elem())
				m := v.Interface().(protocol.Message)
				packet := send(t, a, b, seq+1, m)
				if reason := b.Open(0, packet, &p).Reason; reason != datagram.Accepted || len(p.Messages) != 1 {
					t.Fatalf("%v with %d messages", reason, len(p.Messages))
				}
				got := p.Messages[0].Copy()
				if !reflect.DeepEqual(got, m) {
					t.Fatalf("%+v came as %+v", m, got)
				}
				wipe(reflect.ValueOf(p.Messages[0].Message).Elem())
				if !reflect.DeepEqual(got, m) {
					t.Fatal("a copy changed with its original")
				}
			}
		})
	}
}

// A package has all numbers of a block to itself.
func TestNumbersAreInBlocks(t *testing.T) {
	blocks := make(map[Number]string)
	for _, row := range Types {
		pkg := reflect.TypeOf(row.Message).Elem().PkgPath()
		if other, ok := blocks[row.Number/16]; ok && other != pkg {
			t.Errorf("%s has a number in the block of %s", row.Message.Name(), other)
		}
		blocks[row.Number/16] = pkg
	}
}

// While members adopt a configuration one after the other, their links stay up and their consistent groups go on.
func TestConsistentGroupsSpeakAcrossConfigurations(t *testing.T) {
	for _, x := range Types {
		if name := x.Message.Name(); (strings.HasPrefix(name, "rain.") || strings.HasPrefix(name, "link.")) && !x.Any {
			t.Errorf("%s counts among members of one configuration only", name)
		}
	}
}
