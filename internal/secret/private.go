package secret

import (
	"fmt"
	"strings"

	"github.com/regentproject/regent/internal/identity"
	"github.com/regentproject/regent/internal/owned"
)

// The words that begin a line with a key, so that nobody takes one kind for the other.
const (
	privateWord = "private"
	publicWord  = "public"
)

// PrivateName is the file with a member's own keys, in its directory.
const PrivateName = "private.key"

// ReadPrivate returns the private keys in a file, the oldest first. The file must belong to this user or to root, and no other user may
// have access to it.
func ReadPrivate(path string) ([]identity.Private, error) {
	data, mode, err := owned.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := owned.OnlyOwner(path, mode); err != nil {
		return nil, err
	}
	var keys []identity.Private
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		text, ok := strings.CutPrefix(line, privateWord+" ")
		if !ok {
			return nil, fmt.Errorf("%s: a line does not begin with %q: it is no file with private keys", path, privateWord)
		}
		key, err := identity.ParsePrivate(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 || len(keys) > identity.MaxKeys {
		return nil, fmt.Errorf("%s: holds %d private keys: must be 1 or %d", path, len(keys), identity.MaxKeys)
	}
	return keys, nil
}

// WritePrivate replaces a file with private keys as a whole. Only its owner may read it.
func WritePrivate(path, member string, keys ...identity.Private) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# The private key of member %s of a Regent council. It stays on this host; keep it secret.\n", member)
	for _, k := range keys {
		fmt.Fprintf(&b, "# fingerprint %s\n%s %s\n", k.Public().Fingerprint(), privateWord, k.Text())
	}
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
		case fields[0] == privateWord:
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
