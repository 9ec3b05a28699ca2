// Package secret reads files with secrets: the key of a council, the token of a client.
package secret

import (
	"fmt"
	"os"
	"strings"
)

// Read returns the one line of a file that is neither empty nor a comment. The file must not be open to everybody.
func Read(path string) (string, error) {
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
