package code

import (
	"bytes"
	"fmt"
	"testing"
)

func state(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i * i >> 3)
	}
	return b
}

func TestAnyKSharesGiveTheStateBack(t *testing.T) {
	const k, n = 4, 7
	c, err := New(k, n)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 1, 3, 4, 5, 1000} {
		want := state(size)
		for set := range 1 << n {
			shares, err := c.Encode(want)
			if err != nil {
				t.Fatal(err)
			}
			left := 0
			for i := range shares {
				if set>>i&1 == 0 {
					shares[i] = nil
				} else {
					left++
				}
			}
			got, err := c.Decode(shares, size)
			if (err == nil) != (left >= k) || err == nil && !bytes.Equal(got, want) {
				t.Fatalf("%d bytes from the shares %07b: %v", size, set, err)
			}
		}
	}
	if _, err := c.Decode([][]byte{{1}, {2}, {3}, {4}, nil, nil, nil}, 5); err == nil {
		t.Error("four bytes are a state of five")
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, size := range []int{64 << 10, 1 << 20, 8 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			c, _ := New(4, 7)
			s := state(size)
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := c.Encode(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDecode reconstructs from shares of which three are parity.
func BenchmarkDecode(b *testing.B) {
	for _, size := range []int{64 << 10, 1 << 20, 8 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			c, _ := New(4, 7)
			shares, _ := c.Encode(state(size))
			b.SetBytes(int64(size))
			for b.Loop() {
				some := [][]byte{nil, nil, nil, shares[3], shares[4], shares[5], shares[6]}
				if _, err := c.Decode(some, size); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
