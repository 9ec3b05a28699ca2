package config

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/regentproject/regent/internal/secret"
)

// keyBytes is the length of a new key.
const keyBytes = 32

// NewKey draws a key and returns the text of a key file.
func NewKey() []byte {
	key := make([]byte, keyBytes)
	rand.Read(key)
	return []byte("# The key of a Regent council. Every member has the same; keep it secret.\n" +
		base64.StdEncoding.EncodeToString(key) + "\n")
}

// NewCouncilID draws the id of a council.
func NewCouncilID() string {
	var id [16]byte
	rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

// WriteKey writes a new key to a file that does not exist yet, readable by its owner only.
func WriteKey(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("key file %s exists: a council has one key; remove the file if it is not in use", path)
	}
	if err != nil {
		return fmt.Errorf("key file: %w", err)
	}
	if _, err = f.Write(NewKey()); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// minToken is the length of the shortest bearer token.
const minToken = 16

// Digest returns the digest of the token, from its file or as given.
func (t *Token) Digest() ([sha256.Size]byte, error) {
	if t.SHA256 != "" {
		sum, err := hex.DecodeString(t.SHA256)
		if err != nil || len(sum) != sha256.Size {
			return [sha256.Size]byte{}, fmt.Errorf("token %s: sha256 must be 64 hexadecimal digits", t.Name)
		}
		return [sha256.Size]byte(sum), nil
	}
	text, err := secret.Read(t.File)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("token %s: %w", t.Name, err)
	}
	if len(text) < minToken {
		return [sha256.Size]byte{}, fmt.Errorf("token %s: %s holds %d characters: at least %d", t.Name, t.File, len(text), minToken)
	}
	return sha256.Sum256([]byte(text)), nil
}
