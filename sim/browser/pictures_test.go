package browser_test

import (
	"bytes"
	"cmp"
	"flag"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/chromedp/chromedp"
)

var pictures = flag.String("pictures", "", "write pictures of the page for the documentation to this directory")

// pictured takes a picture of the page as it is, if pictures are wanted: of the whole page, in a window of that width.
func (p *tab) pictured(name string, width int64, dark bool) {
	p.Helper()
	if *pictures == "" {
		return
	}
	p.do(size(width, 800, dark), chromedp.Evaluate[chromedp.Void](`scrollTo(0, 0)`))
	// Members that move stand still by then, and numbers that are drawn twice a second are there.
	p.until(`new Promise(done => setTimeout(() => done(true), 1500))`)
	b, err := small(get(p, chromedp.FullScreenshot(100)))
	p.do(size(1280, 900, false))
	if err == nil {
		err = os.WriteFile(filepath.Join(*pictures, name), b, 0o644)
	}
	if err != nil {
		p.Fatal(err)
	}
}

// small makes a picture a third of its size: a page has few colours, and those that are rare are on the edges of letters.
func small(b []byte) ([]byte, error) {
	src, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	count := make(map[color.RGBA]int)
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(src.At(x, y)).(color.RGBA) }
	box := src.Bounds()
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	most := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var palette color.Palette
	for _, c := range most[:min(256, len(most))] {
		palette = append(palette, c)
	}
	nearest := make(map[color.RGBA]uint8)
	out := image.NewPaletted(box, palette)
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			c := at(x, y)
			i, ok := nearest[c]
			if !ok {
				i = uint8(palette.Index(c))
				nearest[c] = i
			}
			out.SetColorIndex(x, y, i)
		}
	}
	var buf bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&buf, out)
	return buf.Bytes(), err
}
