package lab

import (
	"fmt"
	"io"
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
	return drawLines(w, "How likely MP(1) survives x rounds", "members n", "p(x)", lines)
}

// WriteSessions draws Figure A.1 (b): for how many rounds MP(1) survives with a given probability, by the number of members.
func WriteSessions(w io.Writer) error {
	lines := []line{{name: "p = 0.99"}, {name: "p = 0.9999"}}
	for n := 5; n <= 14; n++ {
		for i, p := range []*big.Rat{big.NewRat(99, 100), big.NewRat(9999, 10000)} {
			lines[i].points = append(lines[i].points, plotter.XY{X: float64(n), Y: float64(Longest(n, p))})
		}
	}
	return drawLines(w, "How long MP(1) survives with probability p", "members n", "rounds x", lines)
}

// drawLines draws curves as SVG.
func drawLines(w io.Writer, title, x, y string, lines []line) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Legend.Left, p.Legend.Top = y != "p(x)", y != "p(x)"
	p.Add(plotter.NewGrid())
	var all []any
	for _, l := range lines {
		all = append(all, l.name, l.points)
	}
	if err := plotutil.AddLinePoints(p, all...); err != nil {
		return err
	}
	// Members are whole, and the last one needs room for its number.
	var ticks []plot.Tick
	for n := p.X.Min; n <= p.X.Max; n++ {
		ticks = append(ticks, plot.Tick{Value: n, Label: fmt.Sprint(n)})
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	p.X.Max += 0.3
	p.Legend.XOffs = vg.Millimeter * 4
	if !p.Legend.Left {
		p.Legend.XOffs = -p.Legend.XOffs
	}
	canvas := vgsvg.New(14*vg.Centimeter, 9*vg.Centimeter)
	p.Draw(draw.New(canvas))
	_, err := canvas.WriteTo(w)
	return err
}
