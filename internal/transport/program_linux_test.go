package transport

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// run interprets a program as the kernel does, with a given random number.
func run(t *rapid.T, p []unix.SockFilter, data []byte, random uint32) (in bool) {
	packet := append(make([]byte, udpHeader), data...)
	a := uint32(0)
	for pc := 0; pc < len(p); pc++ {
		x, holds := p[pc], false
		switch x.Code {
		case unix.BPF_RET | unix.BPF_K:
			return x.K != drop
		case unix.BPF_LD | unix.BPF_W | unix.BPF_LEN:
			a = uint32(len(packet))
			continue
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			if x.K == auxRandom {
				a = random
			} else {
				a = binary.BigEndian.Uint32(packet[x.K:])
			}
			continue
		case unix.BPF_LD | unix.BPF_H | unix.BPF_ABS:
			a = uint32(binary.BigEndian.Uint16(packet[x.K:]))
			continue
		case unix.BPF_LD | unix.BPF_B | unix.BPF_ABS:
			a = uint32(packet[x.K])
			continue
		case unix.BPF_JMP | unix.BPF_JA:
			pc += int(x.K)
			continue
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			holds = a == x.K
		case unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K:
			holds = a > x.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			holds = a >= x.K
		default:
			t.Fatalf("instruction %d is %+v", pc, x)
		}
		if holds {
			pc += int(x.Jt)
		} else {
			pc += int(x.Jf)
		}
	}
	t.Fatal("the program has no end")
	return false
}

// The program of every filter does what OneIn says, for values on and beside those that it lists: with lists of any length, several odds and another filter.
func TestProgramDoesWhatTheFilterSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const length = 12
		value := rapid.Uint32Range(0, 99)
		draw := func(name string, from int) *Filter {
			oneIn := rapid.SampledFrom([]uint32{0, 1, 2, 64})
			f := &Filter{Shortest: 8, Longest: rapid.IntRange(8, length).Draw(t, name+" longest"), Sample: oneIn.Draw(t, name+" sample"),
				Fields: []Field{{Offset: from, Size: 1, Any: rapid.SliceOfN(rapid.Uint32Range(0, 3), 1, 3).Draw(t, name+" any")}, {Offset: from + 1, Size: 2, Below: rapid.SampledFrom([]uint32{0x100, 0x301, 1 << 16}).Draw(t, name+" below")}}}
			for range rapid.IntRange(0, 2).Draw(t, name+" odds") {
				// Spread, so that chunks end anywhere and beyond the sign of 32 bits.
				list := rapid.SliceOfN(value, 0, 90).Draw(t, name+" list")
				for i := range list {
					list[i] *= 1 << 25
				}
				f.Odds = append(f.Odds, Odds{Field{Offset: 4, Size: 4, Any: list}, oneIn.Draw(t, name+" one in")})
			}
			return f
		}
		f := draw("first", 0)
		if rapid.Bool().Draw(t, "or") {
			f.Or = draw("other", 1)
		}
		if err := f.Check(); err != nil {
			t.Fatal(err)
		}
		p := f.program()
		values := []uint32{0, 1<<32 - 1}
		for _, o := range f.Odds {
			for _, v := range o.Any {
				values = append(values, v-1, v, v, v+1)
			}
		}
		for range 30 {
			data := rapid.SliceOfN(rapid.ByteRange(0, 3), rapid.SampledFrom([]int{0, 8}).Draw(t, "shortest"), length).Draw(t, "data")
			if len(data) >= 8 {
				binary.BigEndian.PutUint32(data[4:], rapid.SampledFrom(values).Draw(t, "value"))
			}
			oneIn := f.OneIn(data)
			for _, random := range []uint32{0, rapid.Uint32().Draw(t, "random"), 1<<32 - 1} {
				want := oneIn == 1 || oneIn > 1 && uint64(random) < 1<<32/uint64(oneIn)
				if in := run(t, p, data, random); in != want {
					t.Fatalf("%+v: %x with %d is let in: %v, and one in %d is", f, data, random, in, oneIn)
				}
			}
		}
	})
}
