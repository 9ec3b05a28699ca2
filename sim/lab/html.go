package lab

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
)

//go:embed report.html
var reportHTML string

var reportTemplate = template.Must(template.New("report").Funcs(template.FuncMap{"svg": inlineSVG}).Parse(reportHTML))

// inlineSVG draws a chart as an element of a page.
func inlineSVG(c *Chart) (template.HTML, error) {
	var b bytes.Buffer
	if err := c.WriteSVG(&b); err != nil {
		return "", err
	}
	svg := b.Bytes()
	if i := bytes.Index(svg, []byte("<svg")); i > 0 {
		svg = svg[i:] // without the header of a file
	}
	return template.HTML(svg), nil // WriteSVG escapes all text
}

// A Page is all reports on one page.
type Page struct {
	// Version is that of the program, Command what repeats the page, and Date when it was made.
	Version, Command, Date string
	Reports                []*Report
}

// Missing lists what no experiment measures.
func (p *Page) Missing() []string { return Missing }

// Failed counts the claims that do not hold.
func (p *Page) Failed() int {
	n := 0
	for _, r := range p.Reports {
		n += len(r.Failed())
	}
	return n
}

// Checks counts all claims.
func (p *Page) Checks() int {
	n := 0
	for _, r := range p.Reports {
		n += len(r.Checks)
	}
	return n
}

// Write writes the page as HTML, in one file that needs no other.
func (p *Page) Write(w io.Writer) error { return reportTemplate.Execute(w, p) }
