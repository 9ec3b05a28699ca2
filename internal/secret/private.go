package secret

import (
	"errors"
	"fmt"
	"strings"

	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/owned"
)

// The words that begin a line with a key, so that nobody takes one kind for the other.
const (
	privateWord = "private"
	publicWord  = "public"
	tagWord     = "tag"
)

// PrivateName is the file with a member's own keys, in its directory.
const PrivateName = "private.key"

// ReadPrivate returns what a member alone has: its private keys, the oldest first, and its tag key. The file must belong to this user or
// to root, and no other user may have access to it.
func ReadPrivate(path string) (identity.Own, error) {
	data, mode, err := owned.ReadFile(path)
	if err != nil {
		return identity.Own{}, err
	}
	if err := owned.OnlyOwner(path, mode); err != nil {
		return identity.Own{}, err
	}
	own, err := parsePrivate(string(data))
	if err != nil {
		return identity.Own{}, fmt.Errorf("%s: %w", path, err)
	}
	return own, nil
}

func parsePrivate(data string) (own identity.Own, err error) {
	for line := range strings.Lines(data) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, text, _ := strings.Cut(line, " ")
		text = strings.TrimSpace(text)
		switch {
		case word == privateWord:
			key, err := identity.ParsePrivate(text)
			if err != nil {
				return own, err
			}
			own.Private = append(own.Private, key)
		case word == tagWord && own.Tag == (identity.TagKey{}):
			own.Tag, err = identity.ParseTagKey(text)
			if err != nil {
				return own, fmt.Errorf("tag key: %w", err)
			}
		case word == tagWord:
			return own, errors.New("holds two tag keys: a member has one")
		default:
			return own, fmt.Errorf("a line does not begin with %q or %q: it is no file with private keys", privateWord, tagWord)
		}
	}
	if len(own.Private) == 0 || len(own.Private) > identity.MaxKeys {
		return own, fmt.Errorf("holds %d private keys: must be 1 or %d", len(own.Private), identity.MaxKeys)
	}
	if own.Tag == (identity.TagKey{}) {
		return own, fmt.Errorf("holds no line that begins with %q (remove the file, and draw another with 'regent keys exchange')", tagWord)
	}
	return own, nil
}

// WritePrivate replaces a file with private keys as a whole. Only its owner may read it.
func WritePrivate(path, member string, own *identity.Own) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# The private key of member %s of a Regent council. It stays on this host; keep it secret.\n", member)
	for _, k := range own.Private {
		fmt.Fprintf(&b, "# fingerprint %s\n%s %s\n", k.Public().Fingerprint(), privateWord, k.Text())
	}
	fmt.Fprintf(&b, "# This one proves to the member what it did in earlier lives. It stays the same when keys are rotated.\n%s %s\n", tagWord, own.Tag.Text())
	return owned.ReplaceFile(path, []byte(b.String()), 0o600)
}

// PublicText returns the text of a file with public keys of a member, which may be passed around.
func PublicText(member string, keys []identity.Public) string {
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, "# member %s of a Regent council, fingerprint %s\n%s %s %v\n", member, k.Fingerprint(), publicWord, member, k)
	}
	return b.String()
}

// ParsePublic reads the text of files with public keys: by member, the oldest first. The path is for messages.
func ParsePublic(path string, data []byte) (map[string][]identity.Public, error) {
	out := make(map[string][]identity.Public)
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
			continue
		case fields[0] == privateWord || fields[0] == tagWord:
			return nil, fmt.Errorf("%s: holds a private key, which must stay on its host (pass the output of 'regent keys exchange')", path)
		case len(fields) != 3 || fields[0] != publicWord:
			return nil, fmt.Errorf("%s: %.60q is not of the form '%s MEMBER KEY' (pass the output of 'regent keys exchange')", path, strings.TrimSpace(line), publicWord)
		}
		key, err := identity.ParsePublic(fields[2])
		if err != nil {
			return nil, fmt.Errorf("%s: member %s: %w", path, fields[1], err)
		}
		out[fields[1]] = append(out[fields[1]], key)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: holds no public key", path)
	}
	return out, nil
}
