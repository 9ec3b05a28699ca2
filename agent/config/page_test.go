package config

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/regentproject/regent"
)

// A row is what docs/configuration.md says of a key, cell by cell behind its name.
var row = regexp.MustCompile("(?m)^\\| `([a-z0-9_.]+)` \\| (.*) \\|$")

// rows reads the page.
func rows(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string][]string)
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		if out[m[1]] != nil {
			t.Errorf("docs/configuration.md has %s twice", m[1])
		}
		for cell := range strings.SplitSeq(m[2], "|") {
			out[m[1]] = append(out[m[1]], strings.TrimSpace(cell))
		}
	}
	return out
}

// everyKey calls f with every key below a struct, by its path.
func everyKey(t reflect.Type, above string, f func(path string, of reflect.Type)) {
	for key, of := range keys(t) {
		path := strings.TrimPrefix(above+"."+key, ".")
		f(path, of)
		for of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of.Kind() == reflect.Struct {
			everyKey(of, path, f)
		}
	}
}

func TestEveryKeyIsOnThePageAndNoOther(t *testing.T) {
	page := rows(t)
	everyKey(reflect.TypeFor[File](), "", func(path string, _ reflect.Type) {
		if page[path] == nil {
			t.Errorf("docs/configuration.md does not have %s", path)
		}
		delete(page, path)
	})
	for path := range page {
		t.Errorf("docs/configuration.md has %s, which is no key", path)
	}
}

func TestPageSaysWhatAReloadPutsIntoForce(t *testing.T) {
	with := []string{"socket.mode", "socket.group", "council.public_keys", "council.revoked"}
	for path, cells := range rows(t) {
		top, _, _ := strings.Cut(path, ".")
		want := slices.Contains(reloadable, top) || slices.Contains(with, path) || strings.HasPrefix(path, "http.") && !slices.Contains([]string{"http.listen", "http.probes", "http.tls"}, path)
		if got := cells[len(cells)-2] == "reload"; got != want {
			t.Errorf("docs/configuration.md: %s is in force by %q", path, cells[len(cells)-2])
		}
	}
}

func TestPageHasTheConstantsOfTheProfilesAndTheLimits(t *testing.T) {
	page := rows(t)
	fast, lan, wan := reflect.ValueOf(regent.Fast), reflect.ValueOf(regent.LAN), reflect.ValueOf(regent.WAN)
	for i := range reflect.TypeFor[Timing]().NumField() {
		f := reflect.TypeFor[Timing]().Field(i)
		path := "timing." + f.Tag.Get("yaml")
		var want []string
		for _, profile := range []reflect.Value{fast, lan, wan} {
			want = append(want, fmt.Sprint(profile.FieldByName(f.Name).Interface()))
		}
		if got := page[path]; len(got) != 6 || !slices.Equal(got[1:4], want) {
			t.Errorf("docs/configuration.md: %s: %q, want %q", path, got, want)
		}
	}
	limits := reflect.ValueOf(defaultLimits)
	for i := range limits.NumField() {
		path := "limits." + limits.Type().Field(i).Tag.Get("yaml")
		if got, want := page[path], fmt.Sprint(limits.Field(i).Interface()); len(got) != 4 || got[1] != want {
			t.Errorf("docs/configuration.md: %s: %q, want %s", path, got, want)
		}
	}
}

// The table of profiles has what follows from their constants.
func TestPageHasWhatTheProfilesTolerateAndGive(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for i := range Profiles {
		p := &Profiles[i]
		of := p.Programs()
		want := fmt.Sprintf("| %s | %s | %v | %v | %v | %v |", p.Name, p.Where, of.RoundTrip, Rounded(of.Tolerates()), of.Lease, p.Timing.Lease)
		if !strings.Contains(string(page), want+"\n") {
			t.Errorf("docs/configuration.md has no row %s", want)
		}
	}
}

func TestRoundedNeverExaggerates(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{0: 0, 3_704_980_000: 3_700_000_000, 5_968_000: 5_960_000, 109_780_000: 109_000_000, 999: 999, 1000: 1000, 1001: 1000} {
		if got := Rounded(d); got != want || got > d {
			t.Errorf("%v: %v", d, got)
		}
	}
}
