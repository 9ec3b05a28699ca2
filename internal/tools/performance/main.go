// Performance writes recorded measurements into the pages of the documentation: make performance.
//
// A page has blocks between "<!-- begin NAME -->" and "<!-- end NAME -->". The tables of docs/performance.md come from docs/performance.json, which is what was measured; the
// block "aims" compares them with their aims. Blocks of other pages are files that another command wrote. Everything around the blocks is written by hand.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	root := flag.String("root", ".", "the root of the tree")
	flag.Parse()
	pages, err := generate(*root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "performance:", err)
		os.Exit(1)
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(*root, name), []byte(text), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "performance:", err)
			os.Exit(1)
		}
	}
}

// A record is all that was measured for docs/performance.md.
type record struct {
	Tables []table `json:"tables"`
}

// A table is one of the page. Its cells are as the page has them.
type table struct {
	Name    string     `json:"name"`
	Section string     `json:"section"`
	Command string     `json:"command"`
	Date    string     `json:"date"`
	Load    string     `json:"load"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
	Aims    []aim      `json:"aims"`
}

// An aim bounds all numbers of a column, in rows that begin with a text.
type aim struct {
	What   string  `json:"what"`
	Rows   string  `json:"rows"`
	Column int     `json:"column"`
	Most   float64 `json:"most"`
	Unit   string  `json:"unit"`
}

// The page of our own measurements, and where they are recorded.
const (
	performancePage = "docs/performance.md"
	performanceJSON = "docs/performance.json"
)

// included are the blocks of other pages, and the files that another command wrote for them.
var included = map[string]map[string]string{
	"docs/peers.md": {"peers": "docs/peers/peers.md"},
	"README.md":     {"peers": "docs/peers/short.md"},
}

// generate returns the pages as they should be.
func generate(root string) (map[string]string, error) {
	var r record
	b, err := os.ReadFile(filepath.Join(root, performanceJSON))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", performanceJSON, err)
	}
	blocks, err := r.blocks()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", performanceJSON, err)
	}
	all := map[string]map[string]string{performancePage: blocks}
	for page, files := range included {
		all[page] = make(map[string]string)
		for name, file := range files {
			b, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				return nil, err
			}
			all[page][name] = string(b)
		}
	}
	pages := make(map[string]string)
	for page, blocks := range all {
		b, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			return nil, err
		}
		pages[page], err = fill(string(b), blocks)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", page, err)
		}
	}
	return pages, nil
}

// marker is the line before or after a block.
var marker = regexp.MustCompile(`(?m)^<!-- (begin|end) ([a-z-]+) -->\n`)

// fill puts blocks in place of those in a text. Each block must be there once.
func fill(text string, blocks map[string]string) (string, error) {
	var out strings.Builder
	used := make(map[string]bool)
	open := ""
	at := 0
	for _, m := range marker.FindAllStringSubmatchIndex(text, -1) {
		kind, name := text[m[2]:m[3]], text[m[4]:m[5]]
		content, known := blocks[name]
		switch {
		case kind == "begin" && (open != "" || used[name] || !known), kind == "end" && open != name:
			return "", fmt.Errorf("the marker %q: there is no such block, or it is not in order", strings.TrimSpace(text[m[0]:m[1]]))
		case kind == "begin":
			out.WriteString(text[at:m[1]] + strings.TrimRight(content, "\n") + "\n")
			open, used[name] = name, true
		default:
			out.WriteString(text[m[0]:m[1]])
			open = ""
		}
		at = m[1]
	}
	if open != "" {
		return "", fmt.Errorf("the block %s has no end", open)
	}
	for name := range blocks {
		if !used[name] {
			return "", fmt.Errorf("there is no block %s", name)
		}
	}
	out.WriteString(text[at:])
	return out.String(), nil
}

// blocks returns those of the page.
func (r *record) blocks() (map[string]string, error) {
	all := make(map[string]string)
	var aims strings.Builder
	aims.WriteString("| aim | measured | |\n|---|---|---|\n")
	var without []string
	missed, sum := 0, 0
	for _, t := range r.Tables {
		if t.Command == "" || t.Date == "" || t.Load == "" {
			return nil, fmt.Errorf("table %s: command, date and load belong to every measurement", t.Name)
		}
		text := t.markdown()
		link := "[" + t.Section + "](#" + anchor(t.Section) + ")"
		if len(t.Aims) == 0 {
			without = append(without, link)
		}
		for _, a := range t.Aims {
			worst, err := t.worst(a)
			if err != nil {
				return nil, fmt.Errorf("table %s: %w", t.Name, err)
			}
			sum++
			verdict := "met"
			if worst > a.Most {
				verdict = "**missed**"
				missed++
			}
			fmt.Fprintf(&aims, "| %s: at most %s%s | %s%s, %s, load %s (%s) | %s |\n", a.What, plain(a.Most), a.Unit, plain(worst), a.Unit, t.Date, t.Load, link, verdict)
			text += fmt.Sprintf("\nAim, %s: at most %s%s. At worst %s%s: %s.\n", a.What, plain(a.Most), a.Unit, plain(worst), a.Unit, verdict)
		}
		all[t.Name] = text
	}
	fmt.Fprintf(&aims, "\n%d of %d aims are missed. Without an aim: %s.\n", missed, sum, strings.Join(unique(without), ", "))
	all["aims"] = aims.String()
	return all, nil
}

// unique keeps the first of equal words.
func unique(words []string) (out []string) {
	seen := make(map[string]bool)
	for _, w := range words {
		if !seen[w] {
			out = append(out, w)
		}
		seen[w] = true
	}
	return out
}

func (t *table) markdown() string {
	var b strings.Builder
	line := func(cells []string) {
		b.WriteString("|")
		for _, c := range cells {
			if c != "" {
				c += " "
			}
			b.WriteString(" " + c + "|")
		}
		b.WriteString("\n")
	}
	line(t.Columns)
	b.WriteString(strings.Repeat("|---", len(t.Columns)) + "|\n")
	for _, r := range t.Rows {
		line(r)
	}
	return b.String()
}

// numberLike finds the numbers of a cell.
var numberLike = regexp.MustCompile(`[−-]?\d[\d,]*(\.\d+)?`)

// worst returns the largest number that an aim bounds.
func (t *table) worst(a aim) (float64, error) {
	worst, found := math.Inf(-1), false
	for _, row := range t.Rows {
		if len(row) != len(t.Columns) || a.Column < 0 || a.Column >= len(row) {
			return 0, fmt.Errorf("the row %q has not %d columns, or the aim %q names another", row, len(t.Columns), a.What)
		}
		if !strings.HasPrefix(row[0], a.Rows) {
			continue
		}
		for _, text := range numberLike.FindAllString(row[a.Column], -1) {
			n, err := strconv.ParseFloat(strings.NewReplacer(",", "", "−", "-").Replace(text), 64)
			if err != nil {
				return 0, fmt.Errorf("%q: %w", row[a.Column], err)
			}
			worst, found = max(worst, n), true
		}
	}
	if !found {
		return 0, fmt.Errorf("the aim %q has no number", a.What)
	}
	return worst, nil
}

// plain writes a number as it was measured.
func plain(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// anchor is what a heading is called in links.
func anchor(heading string) string {
	return strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}
