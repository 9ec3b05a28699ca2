package secret

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/regentproject/regent/internal/identity"
)

func TestTagKeyStaysWhenPrivateKeysChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), PrivateName)
	own := identity.DrawOwn()
	tag := own.Tag
	for range 3 {
		if err := WritePrivate(path, "a", &own); err != nil {
			t.Fatal(err)
		}
		got, err := ReadPrivate(path)
		if err != nil || got.Tag != tag || got.Private[0] != own.Private[0] || len(got.Private) != len(own.Private) {
			t.Fatalf("read as %v, %v", got, err)
		}
		got.Private = append(got.Private[len(got.Private)-1:], identity.Draw())
		own = got
	}
}

func TestFileWithPrivateKeysHasOneTagKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), PrivateName)
	own := identity.DrawOwn()
	private, tag := "private "+own.Private[0].Text()+"\n", "tag "+own.Tag.Text()+"\n"
	for _, c := range []struct{ text, fails string }{
		{private + tag, ""},
		{"# words\n\n" + tag + private, ""},
		{private, "begins with \"tag\""},
		{tag, "holds 0 private keys"},
		{private + tag + tag, "two tag keys"},
		{private + "tag no\n", "tag key: a key is 32 bytes"},
		{private + tag + "public a\n", "no file with private keys"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadPrivate(path)
		if (err == nil) != (c.fails == "") || err != nil && (!strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), own.Tag.Text())) {
			t.Errorf("%q: %v", c.fails, err)
		}
	}
	if _, err := ParsePublic(path, []byte(tag)); err == nil || !strings.Contains(err.Error(), "must stay on its host") {
		t.Errorf("a tag key is passed around: %v", err)
	}
}
