package config

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/secret"
)

// ownKeys reads the member's own keys.
func (f *File) ownKeys() (out regent.OwnKeys, err error) {
	if f.PrivateKeyFile == "" {
		return out, errors.New("private_key_file is not set: a member without a directory must name the file with its own key")
	}
	own, err := secret.ReadPrivate(f.PrivateKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return out, fmt.Errorf("private_key_file: %w (run 'regent keys exchange --config %s' to draw this member's key)", err, f.path)
	}
	if err != nil {
		return out, fmt.Errorf("private_key_file: %w", err)
	}
	for _, k := range own.Private {
		out.PrivateKeys = append(out.PrivateKeys, k.Text())
	}
	out.TagKey = own.Tag.Text()
	return out, nil
}

// checkMemberKeys looks at the keys of members, and names all that have none.
func (f *File) checkMemberKeys(fail failer) {
	if len(f.Council) < 2 && len(f.Join) == 0 {
		return
	}
	if _, err := f.ownKeys(); err != nil {
		fail("%w", err)
	}
	for i := range f.Join {
		if len(f.Join[i].PublicKeys) == 0 {
			fail("join: %s has no public_keys ('regent keys exchange' prints them there)", f.Join[i].Name)
		}
	}
	var none []string
	for _, m := range slices.Concat(f.Council, f.contacts()) {
		for _, text := range m.PublicKeys {
			if _, err := identity.ParsePublic(text); err != nil {
				fail("member %s: public_keys: %.50q: %w", m.Name, text, err)
			}
		}
		if len(m.PublicKeys) == 0 && !m.Revoked && m.Name != f.Name && len(f.Join) == 0 {
			none = append(none, m.Name)
		}
	}
	if len(none) > 0 {
		fail("no public key of %s: run 'regent keys exchange' on each of them, and pass the files to 'regent keys exchange' here", strings.Join(none, ", "))
	}
}

// ChangedKeys says which keys a new file lists, drops or revokes, by fingerprint.
func (f *File) ChangedKeys(next *File) []string {
	var out []string
	for i := range next.Council {
		m := &next.Council[i]
		before := f.member(m.Name)
		if before == nil {
			continue
		}
		if m.Revoked != before.Revoked {
			out = append(out, map[bool]string{true: "revoked ", false: "admitted "}[m.Revoked]+m.Name)
		}
		for _, k := range m.PublicKeys {
			if !slices.Contains(before.PublicKeys, k) {
				out = append(out, "listed "+fingerprint(k)+" of "+m.Name)
			}
		}
		for _, k := range before.PublicKeys {
			if !slices.Contains(m.PublicKeys, k) {
				out = append(out, "dropped "+fingerprint(k)+" of "+m.Name)
			}
		}
	}
	return out
}

func fingerprint(text string) string {
	k, err := identity.ParsePublic(text)
	if err != nil {
		return "a key that cannot be read"
	}
	return k.Fingerprint()
}

// member returns the entry of a member; nil if there is none.
func (f *File) member(name string) *Member {
	i := slices.IndexFunc(f.Council, func(m Member) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Council[i]
}

// withoutKeys returns the council as it must stay while an agent runs.
func withoutKeys(council []Member) []Member {
	out := slices.Clone(council)
	for i := range out {
		out[i].PublicKeys, out[i].Revoked = nil, false
	}
	return out
}

// withKeys returns the council with the keys of another list.
func (f *File) withKeys(next *File) []Member {
	out := slices.Clone(f.Council)
	for i := range out {
		if m := next.member(out[i].Name); m != nil {
			out[i].PublicKeys, out[i].Revoked = m.PublicKeys, m.Revoked
		}
	}
	return out
}
