package script

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

// library holds the scenarios that the tests of this package play, so that a program can play them without a checkout.
//
//go:embed testdata/*/*.txt
var library embed.FS

const (
	libraryRoot = "testdata"
	libraryExt  = ".txt"
)

// Library returns the names of the embedded scenarios in order, such as hall/fig_01_split_in_two.
func Library() []string {
	files, err := fs.Glob(library, libraryRoot+"/*/*"+libraryExt)
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(strings.TrimPrefix(f, libraryRoot+"/"), libraryExt)
	}
	return files
}

// Find returns the embedded scenario that a name stands for, under its full name. A name may leave out underscores, leading
// zeros and the end of the name: hall/fig1 is hall/fig_01_split_in_two.
func Find(name string) (full string, text []byte, err error) {
	name = strings.TrimSuffix(name, libraryExt)
	var found []string
	for _, full := range Library() {
		if full == name {
			found = []string{full}
			break
		}
		if abbreviates(squeeze(name), squeeze(full)) {
			found = append(found, full)
		}
	}
	switch len(found) {
	case 1:
		text, err = library.ReadFile(libraryRoot + "/" + found[0] + libraryExt)
		return found[0], text, err
	case 0:
		return "", nil, fmt.Errorf("%s: no such scenario: %w", name, fs.ErrNotExist)
	}
	return "", nil, fmt.Errorf("%s: ambiguous scenario (name one of %s)", name, strings.Join(found, ", "))
}

// squeeze leaves out what a name may leave out anywhere: underscores, and zeros before a digit.
func squeeze(name string) string {
	name = strings.ReplaceAll(name, "_", "")
	short := make([]byte, 0, len(name))
	for i := range len(name) {
		within := len(short) > 0 && digit(short[len(short)-1])
		if name[i] != '0' || within || i+1 == len(name) || !digit(name[i+1]) {
			short = append(short, name[i])
		}
	}
	return string(short)
}

// abbreviates reports whether a name is the beginning of another in the same directory, and no number is cut in two.
func abbreviates(short, long string) bool {
	rest, ok := strings.CutPrefix(long, short)
	return ok && strings.Contains(short, "/") && !strings.HasSuffix(short, "/") && (rest == "" || !digit(rest[0]) || !digit(short[len(short)-1]))
}

func digit(c byte) bool { return '0' <= c && c <= '9' }
