package lab

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Chart is curves over one axis.
type Chart struct {
	Title string `json:"title"`
	// X and Y label the axes, with their units.
	X string `json:"x"`
	Y string `json:"y"`
	// LogX makes the horizontal axis logarithmic.
	LogX   bool    `json:"log_x"`
	Curves []Curve `json:"curves"`
}

// A Curve is one line of a chart.
type Curve struct {
	Name string `json:"name"`
	// Bound marks what the paper states, in contrast to what was measured: the line is dashed.
	Bound  bool    `json:"bound"`
	Points []Point `json:"points"`
}

// A Point is one of a curve.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// chart adds a chart.
func (r *Report) chart(title, x, y string, curves ...Curve) *Chart {
	c := &Chart{Title: title, X: x, Y: y, Curves: curves}
	r.Charts = append(r.Charts, c)
	return c
}

// distribution returns which share of sorted times is no longer than what, in at most a hundred steps.
func distribution(name string, sorted []time.Duration) Curve {
	c := Curve{Name: name}
	const steps = 100
	for i := range steps + 1 {
		c.Points = append(c.Points, Point{milliseconds(share(sorted, float64(i)/steps)), float64(i) / steps})
	}
	return c
}

// The size of a chart, without the lines of its legend, and of one of those.
const (
	chartWidth  = 15 * vg.Centimeter
	chartHeight = 8.5 * vg.Centimeter
	legendLine  = 0.55 * vg.Centimeter
	chartMargin = 3 * vg.Millimeter
	fewPoints   = 40 // a curve with no more than that has each marked
	fewTicks    = 16 // an axis up to that number has the values marked that were measured
	colours     = 7  // after that many curves colours repeat, with dots
)

// WriteSVG draws the chart.
func (c *Chart) WriteSVG(w io.Writer) error {
	canvas := vgsvg.New(chartWidth, chartHeight+c.legendHeight())
	if err := c.draw(draw.New(canvas)); err != nil {
		return err
	}
	_, err := canvas.WriteTo(w)
	return err
}

func (c *Chart) legendHeight() vg.Length { return legendLine*vg.Length(len(c.Curves)) + chartMargin }

// draw draws the chart on a canvas. The legend is below it, so that it never hides a curve.
func (c *Chart) draw(all draw.Canvas) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	p.Title.Padding = 2 * vg.Millimeter
	p.BackgroundColor = color.White
	if c.LogX {
		p.X.Scale = plot.LogScale{}
	}
	if ticks := c.measured(); c.LogX || len(ticks) > 0 && ticks[len(ticks)-1].Value <= fewTicks {
		p.X.Tick.Marker = ticks
	}
	p.Add(plotter.NewGrid())
	legend := plot.NewLegend()
	legend.Left, legend.Top, legend.Padding = true, true, vg.Millimeter
	for i := range c.Curves {
		if err := c.Curves[i].add(p, &legend, i); err != nil {
			return err
		}
	}
	if p.Y.Min > 0 && p.Y.Min < p.Y.Max/2 {
		p.Y.Min = 0
	}
	if p.Y.Min == p.Y.Max {
		p.Y.Min, p.Y.Max = p.Y.Min-1, p.Y.Max+1
	}
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	p.Draw(draw.Crop(all, chartMargin, -2*chartMargin, c.legendHeight(), -chartMargin))
	legend.Draw(draw.Crop(all, 8*chartMargin, -chartMargin, chartMargin, -chartHeight))
	return nil
}

// add draws the curve and names it in the legend.
func (c *Curve) add(p *plot.Plot, legend *plot.Legend, i int) error {
	var xys plotter.XYs
	for _, pt := range c.Points {
		if math.IsNaN(pt.X) || math.IsInf(pt.X, 0) || math.IsNaN(pt.Y) || math.IsInf(pt.Y, 0) {
			return fmt.Errorf("chart: %s has a point at %g, %g", c.Name, pt.X, pt.Y)
		}
		xys = append(xys, plotter.XY{X: pt.X, Y: pt.Y})
	}
	line, err := plotter.NewLine(xys)
	if err != nil {
		return fmt.Errorf("chart: %s: %w", c.Name, err)
	}
	line.Color, line.Width = plotutil.Color(i), vg.Points(1.4)
	if c.Bound {
		line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	} else if i >= colours {
		line.Dashes = []vg.Length{vg.Points(1), vg.Points(2)}
	}
	p.Add(line)
	if c.Bound || len(xys) > fewPoints {
		legend.Add(c.Name, line)
		return nil
	}
	marks, err := plotter.NewScatter(xys)
	if err != nil {
		return fmt.Errorf("chart: %s: %w", c.Name, err)
	}
	marks.Color, marks.Shape, marks.Radius = plotutil.Color(i), draw.CircleGlyph{}, vg.Points(2.2)
	p.Add(marks)
	legend.Add(c.Name, line, marks)
	return nil
}

// measured marks the values of the horizontal axis that were measured. It returns none if these are not whole numbers.
func (c *Chart) measured() plot.ConstantTicks {
	var ticks []plot.Tick
	for _, curve := range c.Curves {
		for _, p := range curve.Points {
			if p.X != math.Trunc(p.X) {
				return nil
			}
			if !slices.ContainsFunc(ticks, func(t plot.Tick) bool { return t.Value == p.X }) {
				ticks = append(ticks, plot.Tick{Value: p.X, Label: fmt.Sprintf("%.0f", p.X)})
			}
		}
	}
	return ticks
}
