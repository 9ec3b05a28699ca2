package identity

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestTwoMembersShareASecret(t *testing.T) {
	a, b := Draw(), Draw()
	x, err := a.Shared(b.Public())
	if err != nil {
		t.Fatal(err)
	}
	y, err := b.Shared(a.Public())
	if err != nil || !bytes.Equal(x, y) {
		t.Errorf("the two sides have %x and %x, %v", x, y, err)
	}
	if c := Draw(); c == b || c.Public() == b.Public() {
		t.Error("two keys that were drawn are the same")
	}
}

func TestKeyOfLowOrderIsRefused(t *testing.T) {
	if s, err := Draw().Shared(Public{1}); err == nil {
		t.Errorf("a public key of low order gives the secret %x", s)
	}
}

func TestKeysHaveOneTextForm(t *testing.T) {
	p := Draw()
	if got, err := ParsePrivate(p.Text()); err != nil || got != p {
		t.Errorf("the text form of a private key is read as %v, %v", got, err)
	}
	if got, err := ParsePublic(p.Public().String()); err != nil || got != p.Public() {
		t.Errorf("the text form of a public key is read as %v, %v", got, err)
	}
	text := p.Text()
	for _, bad := range []string{"", "short", text[:len(text)-1], text + "A", Private{}.Text(), text[:42] + "9="} {
		if bad == text {
			continue
		}
		if _, err := ParsePublic(bad); err == nil {
			t.Errorf("%q is taken for a key", bad)
		}
	}
}

// Logs and errors may print a key by mistake.
func TestPrivateKeyIsNotPrinted(t *testing.T) {
	p := Draw()
	for _, s := range []string{fmt.Sprint(p), fmt.Sprintf("%v %+v %#v %s", p, p, p, p)} {
		if strings.Contains(s, p.Text()) || strings.Contains(s, fmt.Sprint(p[0], " ", p[1])) || !strings.Contains(s, p.Public().Fingerprint()) {
			t.Errorf("printed as %q", s)
		}
	}
}

func TestIDBeginsTheFingerprint(t *testing.T) {
	p := Draw().Public()
	if f, id := p.Fingerprint(), p.ID().String(); len(f) != 19 || !strings.HasPrefix(f, id+"-") {
		t.Errorf("fingerprint %q, id %q", f, id)
	}
}

func TestTagKeyIsDrawnWithAnIdentity(t *testing.T) {
	own, other := DrawOwn(), DrawOwn()
	if own.Tag == other.Tag || own.Tag == (TagKey{}) || own.Tag == TagKey(own.Private[0]) {
		t.Error("the tag key is that of another member, none, or the private key")
	}
	if got, err := ParseTagKey(own.Tag.Text()); err != nil || got != own.Tag {
		t.Errorf("the text form of a tag key is read as another, %v", err)
	}
	for _, s := range []string{fmt.Sprint(own), fmt.Sprintf("%v %+v %#v %s", own, own, own.Tag, own.Tag)} {
		if strings.Contains(s, own.Tag.Text()) || strings.Contains(s, fmt.Sprint(own.Tag[0], " ", own.Tag[1])) {
			t.Errorf("printed as %q", s)
		}
	}
}
