package script_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/regentproject/regent/sim/script"
)

func TestLibraryHasEveryScenario(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, f := range files {
		want = append(want, strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(f), "testdata/"), ".txt"))
	}
	if got := script.Library(); !slices.Equal(got, want) {
		t.Errorf("the library has %v, want %v", got, want)
	}
	for _, name := range want {
		full, text, err := script.Find(name)
		if err != nil || full != name {
			t.Fatalf("%s: found %q, %v", name, full, err)
		}
		if file, err := os.ReadFile("testdata/" + name + ".txt"); err != nil || string(file) != string(text) {
			t.Errorf("%s: the embedded text is not that of the file (%v)", name, err)
		}
	}
}

func TestFindTakesShortNames(t *testing.T) {
	for name, want := range map[string]string{
		"hall/fig1":              "hall/fig_01_split_in_two",
		"hall/fig_2":             "hall/fig_02_trio",
		"hall/fig22":             "hall/fig_22_bounded_inconsistency",
		"hall/turns":             "hall/turns",
		"nerio/figure1":          "nerio/figure_1",
		"rain/e_r1":              "rain/e_r1_first_loss",
		"rain/how_soon":          "rain/how_soon", // how_soon_plain is another one
		"rain/scenario.txt":      "rain/scenario_of_the_paper",
		"stable/problem1_fig1":   "stable/problem1_fig1",
		"hall/fig0014":           "hall/fig_14_all_support",
		"timefree/long_history":  "timefree/long_history",
		"timefree/longhistoryp":  "timefree/long_history_plain",
		"stack/moved_on_fsource": "stack/moved_on_fsource",
	} {
		if got, text, err := script.Find(name); got != want || len(text) == 0 || err != nil {
			t.Errorf("%s: found %q with %d bytes, %v; want %q", name, got, len(text), err, want)
		}
	}
	for _, name := range []string{"", "hall", "hall/", "hall/fig", "fig1", "hall/fig99", "../hall/fig1", "rain/e_r8"} {
		if got, _, err := script.Find(name); err == nil {
			t.Errorf("%q: found %q, want none", name, got)
		}
	}
	if _, _, err := script.Find("hall/nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("hall/nothing: %v, want that it does not exist", err)
	}
	if _, _, err := script.Find("rain/e_r8"); err == nil || !strings.Contains(err.Error(), "rain/e_r8_partition") {
		t.Errorf("rain/e_r8: %v, want the names of all that it may mean", err)
	}
}

func TestDocumentedScenariosExist(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`regent (?:sim run|replay)\s+([a-z]+/[a-z0-9_]+)`).FindAllStringSubmatch(string(text), -1) {
			found++
			if _, _, err := script.Find(m[1]); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d scenarios are named on the pages", found)
	}
}
