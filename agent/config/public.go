package config

import (
	"fmt"
	"os"

	"github.com/goccy/go-yaml"
)

// leftOut stands in the place of what Public leaves out.
const leftOut = "(left out)"

// Public returns the file as it is written, without comments and secrets: people write passwords into comments, and the address of an engine
// may have one. Digests of tokens are left out as well, since short tokens can be guessed from them.
func (f *File) Public() ([]byte, error) {
	data, err := os.ReadFile(f.path)
	if err != nil {
		return nil, unreadable(f.path, err)
	}
	var all yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(data, &all, yaml.UseOrderedMap()); err != nil {
		return nil, syntax(f.path, err)
	}
	hide(all, "engine", "address")
	hide(all, "http", "tokens", "sha256")
	out, err := yaml.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	return out, nil
}

// hide replaces the values at a path of keys, in every element of lists on the way.
func hide(in any, path ...string) {
	switch x := in.(type) {
	case yaml.MapSlice:
		for i := range x {
			switch {
			case x[i].Key != path[0]:
			case len(path) == 1:
				x[i].Value = leftOut
			default:
				hide(x[i].Value, path[1:]...)
			}
		}
	case []any:
		for _, e := range x {
			hide(e, path...)
		}
	}
}
