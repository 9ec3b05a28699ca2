package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../../.."

// The pages have what was recorded: make performance writes it.
func TestPagesHaveWhatWasRecorded(t *testing.T) {
	pages, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pages {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s has not what was recorded, or its blocks were edited: change the recorded file and run make performance", name)
		}
	}
}

// One number above an aim is enough to miss it.
func TestAimsAreComparedWithTheWorst(t *testing.T) {
	r := record{Tables: []table{{Name: "x", Section: "A part, of all", Command: "c", Date: "d", Load: "l", Columns: []string{"", "n"},
		Rows: [][]string{{"a", "1,000/s; +2 %"}, {"a, busy", "7"}, {"b", "−3 %"}},
		Aims: []aim{{What: "all", Column: 1, Most: 999, Unit: " u"}, {What: "b", Rows: "b", Column: 1, Most: 0}}}, {Name: "y", Section: "Rest", Command: "c", Date: "d", Load: "l", Columns: []string{"z"}}}}
	blocks, err := r.blocks()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| all: at most 999 u | 1000 u, d, load l ([A part, of all](#a-part-of-all)) | **missed** |", "| b: at most 0 | -3, d, load l", "| met |", "1 of 2 aims are missed. Without an aim: [Rest](#rest)."} {
		if !strings.Contains(blocks["aims"], want) {
			t.Errorf("%q is missing in\n%s", want, blocks["aims"])
		}
	}
	if want := "| | n |\n|---|---|\n| a | 1,000/s; +2 % |\n"; !strings.HasPrefix(blocks["x"], want) {
		t.Errorf("%s", blocks["x"])
	}
	for _, bad := range []aim{{What: "none", Rows: "c", Column: 1}, {What: "no column", Column: 2}} {
		r.Tables[0].Aims = []aim{bad}
		if _, err := r.blocks(); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	r.Tables[0].Aims, r.Tables[0].Load = nil, ""
	if _, err := r.blocks(); err == nil {
		t.Error("a measurement without its load is accepted")
	}
}

func TestBlocksAreFilled(t *testing.T) {
	text := "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n"
	got, err := fill(text, map[string]string{"x": "new\n"})
	if want := "a\n<!-- begin x -->\nnew\n<!-- end x -->\nb\n"; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"", "<!-- begin x -->\n", text + text, "<!-- end x -->\n", text + "<!-- begin y -->\n<!-- end y -->\n", "<!-- begin x -->\n<!-- end y -->\n"} {
		if _, err := fill(bad, map[string]string{"x": ""}); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
