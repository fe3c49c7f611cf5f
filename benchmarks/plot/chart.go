package main

import (
	"image/color"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
)

const (
	width, height = 13 * vg.Inch, 9 * vg.Inch
	barWidth      = 9.5 // points
)

// colors are the colors of the kinds. Readers who cannot distinguish red and green can
// distinguish them.
var colors = []color.Color{
	color.RGBA{0x88, 0x88, 0x88, 0xff},
	color.RGBA{0x00, 0x72, 0xb2, 0xff},
	color.RGBA{0xe6, 0x9f, 0x00, 0xff},
	color.RGBA{0x00, 0x9e, 0x73, 0xff},
	color.RGBA{0xcc, 0x79, 0xa7, 0xff},
	color.RGBA{0x56, 0xb4, 0xe9, 0xff},
	color.RGBA{0xf0, 0xe4, 0x42, 0xff},
}

// draw writes the figures of life as a picture, once for each path; its extension
// decides about the format.
func draw(r *results, paths ...string) error {
	var panels [][]*plot.Plot
	top := 0.0
	for _, way := range ways {
		p, err := panel(r, way)
		if err != nil {
			return err
		}
		panels, top = append(panels, []*plot.Plot{p}), max(top, p.Y.Max)
	}
	for _, p := range panels {
		p[0].Y.Max = top * 1.03 // the same scale
	}
	for _, path := range paths {
		if err := save(panels, path); err != nil {
			return err
		}
	}
	return nil
}

func save(panels [][]*plot.Plot, path string) error {
	canvas, err := vgdraw.NewFormattedCanvas(width, height, strings.TrimPrefix(filepath.Ext(path), "."))
	if err != nil {
		return err
	}
	tiles := vgdraw.Tiles{Rows: len(panels), Cols: 1, PadTop: 8, PadBottom: 8, PadLeft: 8, PadRight: 8, PadY: 14}
	for i, row := range plot.Align(panels, tiles, vgdraw.New(canvas)) {
		panels[i][0].Draw(row[0])
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := canvas.WriteTo(f); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// panel has a group of bars for each operation, a bar for each kind.
func panel(r *results, way string) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = map[string]string{"http": "over HTTP", "in-process": "in process"}[way] + ": time of fakecluster × the same client against ready bytes"
	p.Title.TextStyle.Font.Size = 14
	p.Title.Padding = 6
	p.Y.Label.Text = "× the floor"
	p.Y.Label.TextStyle.Font.Size = 12
	p.Y.Tick.Label.Font.Size, p.X.Tick.Label.Font.Size = 11, 11
	p.Legend.Padding = 2
	p.Legend.Top, p.Legend.Left, p.Legend.XOffs, p.Legend.YOffs = true, true, 10, -4
	p.Legend.TextStyle.Font.Size = 12
	grid := plotter.NewGrid()
	grid.Vertical.Width = 0
	grid.Horizontal.Color = color.Gray{0xdd}
	p.Add(grid)
	for i, kind := range r.kinds {
		var heights plotter.Values
		for _, operation := range r.operations {
			heights = append(heights, r.life[lifeCase{kind, operation, way}]["x-floor"])
		}
		bars, err := plotter.NewBarChart(heights, vg.Points(barWidth))
		if err != nil {
			return nil, err
		}
		bars.LineStyle.Width = 0
		bars.Color = colors[i%len(colors)]
		bars.Offset = vg.Points(barWidth * (float64(i) - float64(len(r.kinds)-1)/2))
		p.Add(bars)
		p.Legend.Add(kind, bars)
	}
	lines := limits{way: way, operations: r.operations, LineStyle: vgdraw.LineStyle{Color: color.RGBA{0xd0, 0, 0, 0xff}, Width: vg.Points(2)}}
	p.Add(lines)
	p.Legend.Add("budget", lines)
	var names []string
	for _, operation := range r.operations {
		names = append(names, shortTitles.Replace(operation))
	}
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.6, float64(len(names))-0.4
	p.Y.Min = 0
	return p, nil
}

// shortTitles makes the names of operations titles of two lines at most.
var shortTitles = strings.NewReplacer("-with-", " with\n", "-status", "\nof the status", "-", " ")

// limits are lines across the groups of bars, as high as the budget.
type limits struct {
	way        string
	operations []string
	vgdraw.LineStyle
}

func (l limits) Plot(c vgdraw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, operation := range l.operations {
		row := rowOf(operation)
		if !row.hasBudget() {
			continue
		}
		height := row.atMost[0]
		if l.way == ways[1] {
			height = row.atMost[1]
		}
		c.StrokeLine2(l.LineStyle, x(float64(i)-0.45), y(height), x(float64(i)+0.45), y(height))
	}
}

// Thumbnail draws the line of the legend.
func (l limits) Thumbnail(c *vgdraw.Canvas) {
	y := c.Center().Y
	c.StrokeLine2(l.LineStyle, c.Min.X, y, c.Max.X, y)
}
