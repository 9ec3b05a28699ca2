package fractal

import (
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
)

// The picture has Side × Side tiles of edge × edge pixels.
const (
	Side = 4
	edge = 32
	one  = 1 << 26 // fixed point: the same on every processor
)

// Keys returns the keys of the work.
func Keys() []string {
	var all []string
	for i := range Side * Side {
		all = append(all, fmt.Sprintf("tile%02d", i))
	}
	return all
}

func tileNumber(key string) int {
	var i int
	_, _ = fmt.Sscanf(key, "tile%02d", &i)
	return i
}

// A state of a tile is a noise generator and a brightness for each pixel, which a frame adds to. The generator goes on from what the
// pixels were, so nobody can compute a frame without the one before.
const stateSize = 8 + 4*edge*edge

// Begin returns the state of a tile before its first frame.
func Begin(key string, seed uint64) []byte {
	state := make([]byte, stateSize)
	binary.BigEndian.PutUint64(state, (seed+1)*0x9e3779b97f4a7c15^uint64(tileNumber(key)+1)*0xbf58476d1ce4e5b9)
	return state
}

// Next computes a frame of the zoom.
func Next(key string, frame uint64, state []byte) []byte {
	out := make([]byte, len(state))
	noise := binary.BigEndian.Uint64(state)
	number := tileNumber(key)
	width := int64(3*one) >> min(frame/64, 12) // halves every 64 frames
	width -= width / 128 * int64(frame%64)
	left, top := int64(-743643887)*one/1e9-width/2, int64(131825904)*one/1e9-width/2
	for p := range edge * edge {
		noise ^= noise << 13
		noise ^= noise >> 7
		noise ^= noise << 17
		x, y := int64(number%Side*edge+p%edge), int64(number/Side*edge+p/edge)
		jitter := int64(noise >> 56)
		v := escape(left+width*(256*x+jitter)/(256*Side*edge), top+width*(256*y+jitter)/(256*Side*edge))
		old := binary.BigEndian.Uint32(state[8+4*p:])
		lit := old - old/8 + v*4096
		binary.BigEndian.PutUint32(out[8+4*p:], lit)
		noise += uint64(lit)
	}
	binary.BigEndian.PutUint64(out, noise|1)
	return out
}

// escape returns after how many rounds a point leaves the Mandelbrot set, up to a limit.
func escape(cx, cy int64) uint32 {
	const limit = 48
	var x, y int64
	for i := range uint32(limit) {
		xx, yy := x*x/one, y*y/one
		if xx+yy > 4*one {
			return i
		}
		x, y = xx-yy+cx, 2*x*y/one+cy
	}
	return limit
}

// Draw writes the picture of the states of all tiles.
func Draw(w io.Writer, states map[string][]byte) error {
	img := image.NewRGBA(image.Rect(0, 0, Side*edge, Side*edge))
	for key, state := range states {
		if len(state) != stateSize {
			continue
		}
		number := tileNumber(key)
		for p := range edge * edge {
			v := binary.BigEndian.Uint32(state[8+4*p:]) / 6144
			img.SetRGBA(number%Side*edge+p%edge, number/Side*edge+p/edge, color.RGBA{uint8(v), uint8(v * v / 256), uint8(255 - v/2), 255})
		}
	}
	return png.Encode(w, img)
}
