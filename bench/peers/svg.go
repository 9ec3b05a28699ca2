package main

import (
	"fmt"
	"math"
	"strings"
)

// A plot has lines or points on two axes.
type plot struct {
	title, subtitle, x, y string
	logX, logY            bool
	// zeroX gives zero a place of its own at the left of a logarithmic axis.
	zeroX  bool
	lines  []line
	points []point
}

type line struct {
	name   string
	x, y   []float64
	colour int
	dashed bool
}

type point struct {
	name           string
	x, y           float64
	colour         int
	hollow, square bool
}

// colours can be told apart with most kinds of colour blindness (Okabe and Ito).
var colours = []string{"#0072b2", "#56b4e9", "#009e73", "#d55e00", "#cc79a7", "#b8860b", "#555555", "#000000"}

func colourOf(i int) string { return colours[(i+len(colours))%len(colours)] }

// The sheet, and the frame of the axes in it, in pixels.
const (
	wide, high           = 820, 460
	left, right          = 70, 640
	top, bottom          = 64, 400
	zeroAt               = left + 24 // where zero is, if it has a place of its own
	legendAt, legendStep = right + 20, 20
)

// An axis maps numbers to pixels.
type axis struct {
	low, high float64
	from, to  float64
	log, zero bool
}

// newAxis returns one that has room for all values.
func newAxis(values []float64, log, zero bool, from, to float64) axis {
	a := axis{log: log, zero: zero, from: from, to: to}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if log && v <= 0 {
			continue
		}
		low, high = min(low, v), max(high, v)
	}
	if math.IsInf(low, 1) {
		low, high = 1, 10
	}
	if log {
		a.low, a.high = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
		if a.low == a.high {
			a.high *= 10
		}
		return a
	}
	a.low, a.high = min(0, low), max(high, low+1)
	return a
}

// at returns the pixel of a value.
func (a axis) at(v float64) float64 {
	from := a.from
	if a.zero {
		from = zeroAt + 40
		if v <= 0 {
			return zeroAt
		}
	}
	share := (v - a.low) / (a.high - a.low)
	if a.log {
		share = (math.Log10(max(v, a.low)) - math.Log10(a.low)) / (math.Log10(a.high) - math.Log10(a.low))
	}
	return from + share*(a.to-from)
}

// ticks are the values that have a mark.
func (a axis) ticks() (all []float64) {
	if a.log {
		for v := a.low; v <= a.high*1.001; v *= 10 {
			all = append(all, v)
		}
		return all
	}
	for i := range 6 {
		all = append(all, a.low+float64(i)*(a.high-a.low)/5)
	}
	return all
}

func (p *plot) axes() (x, y axis) {
	var xs, ys []float64
	for _, l := range p.lines {
		xs, ys = append(xs, l.x...), append(ys, l.y...)
	}
	for _, q := range p.points {
		xs, ys = append(xs, q.x), append(ys, q.y)
	}
	return newAxis(xs, p.logX, p.zeroX, left, right), newAxis(ys, p.logY, false, bottom, top)
}

// svg draws the plot.
func (p plot) svg() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="%s">`+"\n", wide, high, wide, high, escape(p.title))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", wide, high)
	text(&b, left, 26, "start", "#222222", p.title, ` font-size="16" font-weight="600"`)
	text(&b, left, 46, "start", "#555555", p.subtitle, "")
	x, y := p.axes()
	p.frame(&b, x, y)
	for i, l := range p.lines {
		var way []string
		for j := range l.x {
			way = append(way, fmt.Sprintf("%.1f,%.1f", x.at(l.x[j]), y.at(l.y[j])))
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", strings.Join(way, " "), colourOf(l.colour), dashes(l.dashed))
		at := float64(top + 10 + i*legendStep)
		fmt.Fprintf(&b, `<line x1="%d" y1="%.0f" x2="%d" y2="%.0f" stroke="%s" stroke-width="2"%s/>`+"\n", legendAt, at, legendAt+22, at, colourOf(l.colour), dashes(l.dashed))
		text(&b, legendAt+28, at+4, "start", "#222222", l.name, "")
	}
	p.dots(&b, x, y)
	b.WriteString("</svg>\n")
	return b.String()
}

// frame draws the axes.
func (p *plot) frame(b *strings.Builder, x, y axis) {
	for _, v := range x.ticks() {
		fmt.Fprintf(b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#e0e0e0"/>`+"\n", x.at(v), top, x.at(v), bottom)
		text(b, x.at(v), bottom+18, "middle", "#555555", number(v), "")
	}
	if p.zeroX {
		fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#e0e0e0"/>`+"\n", zeroAt, top, zeroAt, bottom)
		text(b, zeroAt, bottom+18, "middle", "#555555", "0", "")
	}
	for _, v := range y.ticks() {
		fmt.Fprintf(b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#e0e0e0"/>`+"\n", left, y.at(v), right, y.at(v))
		text(b, left-8, y.at(v)+4, "end", "#555555", number(v), "")
	}
	fmt.Fprintf(b, `<path d="M%d %dV%dH%d" fill="none" stroke="#888888"/>`+"\n", left, top, bottom, right)
	text(b, (left+right)/2, bottom+42, "middle", "#222222", p.x, "")
	text(b, 18, (top+bottom)/2, "middle", "#222222", p.y, fmt.Sprintf(` transform="rotate(-90 18 %d)"`, (top+bottom)/2))
}

// dots draws the points, and a legend with each name once.
func (p *plot) dots(b *strings.Builder, x, y axis) {
	named := make(map[string]bool)
	for _, q := range p.points {
		dot(b, x.at(q.x), y.at(q.y), q)
		if named[q.name] {
			continue
		}
		named[q.name] = true
		at := float64(top + 10 + (len(named)-1)*legendStep)
		q.hollow = false
		dot(b, legendAt+10, at, q)
		text(b, legendAt+28, at+4, "start", "#222222", q.name, "")
	}
}

func dot(b *strings.Builder, x, y float64, q point) {
	fill, size := colourOf(q.colour), 6.0
	if q.hollow {
		fill, size = "none", 9.0 // it goes around a filled one at the same place
	}
	title := fmt.Sprintf("<title>%s: %s, %s</title>", escape(q.name), number(q.x), number(q.y))
	if q.square {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.0f" height="%.0f" fill="%s" stroke="%s" stroke-width="2">%s</rect>`+"\n", x-size, y-size, 2*size, 2*size, fill, colourOf(q.colour), title)
		return
	}
	fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="%.0f" fill="%s" stroke="%s" stroke-width="2">%s</circle>`+"\n", x, y, size, fill, colourOf(q.colour), title)
}

func dashes(on bool) string {
	if on {
		return ` stroke-dasharray="6 4"`
	}
	return ""
}

func text(b *strings.Builder, x, y float64, anchor, colour, words, more string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s"%s>%s</text>`+"\n", x, y, anchor, colour, more, escape(words))
}
