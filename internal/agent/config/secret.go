package config

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
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

// ReadKey reads a key file: base64 on one line, beside comments.
func ReadKey(path string) ([]byte, error) {
	text, err := secret(path)
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("key file %s: is not base64: make one with 'regent keygen'", path)
	}
	if len(key) < 16 || len(key) > 128 {
		return nil, fmt.Errorf("key file %s: holds %d bytes: must be 16 to 128; make one with 'regent keygen'", path, len(key))
	}
	return key, nil
}

// secret reads a file of one line that not everybody may read.
func secret(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Mode().Perm()&0o007 != 0 {
		return "", fmt.Errorf("%s can be read or written by everybody (mode %04o): run 'chmod o= %s'", path, info.Mode().Perm(), path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var text string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case text != "":
			return "", fmt.Errorf("%s: holds more than one line beside comments", path)
		default:
			text = line
		}
	}
	if text == "" {
		return "", fmt.Errorf("%s: holds nothing", path)
	}
	return text, nil
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
	text, err := secret(t.File)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("token %s: %w", t.Name, err)
	}
	if len(text) < minToken {
		return [sha256.Size]byte{}, fmt.Errorf("token %s: %s holds %d characters: at least %d", t.Name, t.File, len(text), minToken)
	}
	return sha256.Sum256([]byte(text)), nil
}
