// Package secret reads files with secrets: the key of a council, the token of a client.
package secret

import (
	"fmt"
	"strings"

	"github.com/regentproject/regent/internal/owned"
)

// Read returns the one line of a file that is neither empty nor a comment. The file must not be open to everybody,
// and must belong to this user or to root.
func Read(path string) (string, error) {
	data, mode, err := owned.ReadFile(path)
	if err != nil {
		return "", err
	}
	if mode.Perm()&0o007 != 0 {
		return "", fmt.Errorf("%s can be read or written by everybody (mode %04o): run 'chmod o= %s'", path, mode.Perm(), path)
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
