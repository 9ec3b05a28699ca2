// Package code is the erasure code of checkpoints: Reed–Solomon over GF(2^8), of which any k of n shares give the state back.
package code

import (
	"fmt"
	"slices"

	"github.com/klauspost/reedsolomon"
)

// ReedSolomon is a code. It may be used by several goroutines.
type ReedSolomon struct {
	data, all int
	code      reedsolomon.Encoder
}

// New makes a code of n shares, of which k give the state back.
func New(k, n int) (*ReedSolomon, error) {
	c, err := reedsolomon.New(k, n-k, reedsolomon.WithMaxGoroutines(1))
	if err != nil {
		return nil, fmt.Errorf("checkpoint: code of %d in %d: %w", k, n, err)
	}
	return &ReedSolomon{k, n, c}, nil
}

// Encode returns n shares. An empty state has shares of one byte.
func (r *ReedSolomon) Encode(state []byte) ([][]byte, error) {
	size := max(1, (len(state)+r.data-1)/r.data)
	whole := make([]byte, size*r.all)
	copy(whole, state)
	shares := make([][]byte, r.all)
	for i := range shares {
		shares[i] = whole[i*size : (i+1)*size : (i+1)*size]
	}
	return shares, r.code.Encode(shares)
}

// Decode returns a state of a size from shares by index, of which at least k are not nil. It changes the slice, not the shares in it.
func (r *ReedSolomon) Decode(shares [][]byte, size int) ([]byte, error) {
	if err := r.code.ReconstructData(shares); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	state := slices.Concat(shares[:r.data]...) // the writer of the shares states size: it may be wrong
	if size < 0 || size > len(state) {
		return nil, fmt.Errorf("checkpoint: a state of %d bytes in shares of %d", size, len(state))
	}
	return state[:size:size], nil
}
