package regent

import (
	"encoding/base64"
	"fmt"

	"github.com/regentproject/regent/internal/secret"
)

// ReadKey reads a key file as 'regent keygen' writes it, for [Config.Key]: base64 on one line, beside comments. The file must
// not be open to everybody. Agents read theirs in the same way, so that members of both kinds can share one.
func ReadKey(path string) ([]byte, error) {
	text, err := secret.Read(path)
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
