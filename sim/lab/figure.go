package lab

import (
	"fmt"
	"io"
	"math"
	"math/big"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A line is one curve of a figure.
type line struct {
	name   string
	points plotter.XYs
}

// WriteSurvival draws Figure A.1 (a): the probability that MP(1) survives 3n/2 rounds, and 2n, by the number of members.
func WriteSurvival(w io.Writer) error {
	lines := []line{{name: "x = 3n/2"}, {name: "x = 2n"}}
	for n := 5; n <= 10; n++ {
		for i, x := range []int{3 * n / 2, 2 * n} {
			p, _ := Survives(n, x).Float64()
			lines[i].points = append(lines[i].points, plotter.XY{X: float64(n), Y: p})
		}
	}
	return figure{title: "How likely MP(1) survives x rounds", y: "p(x)", step: 0.05, legend: 8 * vg.Centimeter}.draw(w, lines)
}

// WriteSessions draws Figure A.1 (b): for how many rounds MP(1) survives with a given probability, by the number of members.
func WriteSessions(w io.Writer) error {
	lines := []line{{name: "p = 0.99"}, {name: "p = 0.9999"}}
	for n := 5; n <= 14; n++ {
		for i, p := range []*big.Rat{big.NewRat(99, 100), big.NewRat(9999, 10000)} {
			lines[i].points = append(lines[i].points, plotter.XY{X: float64(n), Y: float64(Longest(n, p))})
		}
	}
	return figure{title: "How long MP(1) survives with probability p", y: "rounds x", step: 10, legend: vg.Centimeter, top: true}.draw(w, lines)
}

// A figure has the number of members on its horizontal axis, and marks at multiples of step on the other. The legend begins
// so far from the left, at the top or the bottom, with its text to the right, so that any font has room.
type figure struct {
	title, y string
	step     float64
	legend   vg.Length
	top      bool
}

// draw draws curves as SVG.
func (f figure) draw(w io.Writer, lines []line) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.title, "members n", f.y
	p.Title.Padding = 2 * vg.Millimeter
	p.Legend.Left, p.Legend.Top, p.Legend.XOffs = true, f.top, f.legend
	p.Legend.Padding = vg.Millimeter
	p.Add(plotter.NewGrid())
	var all []any
	for _, l := range lines {
		all = append(all, l.name, l.points)
	}
	if err := plotutil.AddLinePoints(p, all...); err != nil {
		return err
	}
	p.X.Tick.Marker = marks(p.X.Min, p.X.Max, 1)
	p.X.Max += 0.3 // room for the number of the last one
	p.Y.Min, p.Y.Max = f.step*math.Floor(p.Y.Min/f.step), f.step*math.Ceil(p.Y.Max/f.step)
	p.Y.Tick.Marker = marks(p.Y.Min, p.Y.Max, f.step)
	canvas := vgsvg.New(14*vg.Centimeter, 9*vg.Centimeter)
	margin := 3 * vg.Millimeter
	p.Draw(draw.Crop(draw.New(canvas), margin, -margin, margin, -margin))
	_, err := canvas.WriteTo(w)
	return err
}

// marks returns one mark for each step from the first to the last.
func marks(first, last, step float64) plot.ConstantTicks {
	var ticks []plot.Tick
	for i := range int(math.Round((last-first)/step)) + 1 {
		v := first + float64(i)*step
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.4g", v)})
	}
	return ticks
}
