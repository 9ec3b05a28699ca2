package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
)

func TestKeyringRefusesBadKeys(t *testing.T) {
	for want, keys := range map[string][][]byte{
		"0 keys":             nil,
		"5 keys":             {testKey, testKey, testKey, testKey, testKey},
		"key 2 has 15 bytes": {testKey, testKey[:15]},
		"key 1 has 129":      {make([]byte, 129)},
		"key 2 has the id":   {testKey, testKey},
		"public one":         {publicKey},
	} {
		if _, err := NewKeyring(keys...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if r := ringOf(t, testKey); r.Public() || !PublicKeyring().Public() {
		t.Error("only the ring without a secret is public")
	}
}

func TestKeysHaveATextForm(t *testing.T) {
	key := GenerateKey()
	if bytes.Equal(key, GenerateKey()) || len(key) != 32 {
		t.Fatalf("drawn keys repeat, or have %d bytes", len(key))
	}
	for _, text := range []string{
		base64.StdEncoding.EncodeToString(key), base64.RawStdEncoding.EncodeToString(key), hex.EncodeToString(key),
		" " + strings.ToUpper(hex.EncodeToString(key)) + "\n",
	} {
		if got, err := ParseKey(text); err != nil || !bytes.Equal(got, key) {
			t.Errorf("%q is %x, %v; want %x", text, got, err, key)
		}
	}
	for _, text := range []string{"", "!", "c2hvcnQ=", "a key with blanks in it, of some length"} {
		if got, err := ParseKey(text); err == nil {
			t.Errorf("%q is taken for the key %x", text, got)
		}
	}
}
