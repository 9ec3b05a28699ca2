package config

import (
	"strconv"
	"testing"
)

// FuzzPrincipal looks for clients of rights that are taken for others than they name.
func FuzzPrincipal(f *testing.F) {
	for _, s := range []string{"uid:0", "gid:10", "token:ci", "cert:host1", "anyone", "uid:", "uid:-1", "x", "anyone:x", "uid:root", "gid:root", "uid:no such user", "gid:no such group"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePrincipal(text)
		if err != nil {
			return
		}
		switch {
		case p.Kind == "anyone" && text != "anyone":
			t.Errorf("%q is anyone", text)
		case (p.Kind == "uid" || p.Kind == "gid") && p.ID < 0:
			t.Errorf("%q is %d", text, p.ID)
		case p.Kind == "uid" || p.Kind == "gid":
			if n, err := strconv.Atoi(p.Name); err == nil && n != p.ID {
				t.Errorf("%q is %d", text, p.ID)
			}
		case p.Kind != "anyone" && text != p.Kind+":"+p.Name:
			t.Errorf("%q is %s %q", text, p.Kind, p.Name)
		}
	})
}
