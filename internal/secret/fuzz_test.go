package secret

import (
	"reflect"
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/identity"
)

// FuzzPrivate looks for files that make a member crash, or that hold fewer or more keys than a member has.
func FuzzPrivate(f *testing.F) {
	key, tag := identity.Private{1: 1}.Text(), identity.TagKey{1: 1}.Text()
	for _, text := range []string{"private " + key + "\ntag " + tag + "\n", "# a comment\n\n private " + key + "\nprivate " + key + "\ntag " + tag,
		"tag " + tag + "\ntag " + tag, "private " + key, "public a " + key, "private x", "tag x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		own, err := parsePrivate(text)
		if err == nil && (len(own.Private) < 1 || len(own.Private) > identity.MaxKeys || own.Tag == identity.TagKey{}) {
			t.Fatalf("%q holds %d keys", text, len(own.Private))
		}
	})
}

// FuzzPublic looks for files with public keys that make a command crash, that let a private key pass, or that are read in two ways.
func FuzzPublic(f *testing.F) {
	key := identity.Private{1: 1}.Public().String()
	for _, text := range []string{"public a " + key, "# a comment\npublic a " + key + "\n\npublic b " + key + "\npublic a " + key, "private " + key, "tag x", "public a", "public a x", ""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := ParsePublic("file", text)
		if err != nil {
			return
		}
		var again strings.Builder
		for member, all := range keys {
			again.WriteString(PublicText(member, all))
		}
		if read, err := ParsePublic("file", []byte(again.String())); err != nil || !reflect.DeepEqual(read, keys) {
			t.Fatalf("%q was read as %v, and %q as %v, %v", text, keys, again.String(), read, err)
		}
	})
}
