package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Files that root writes into a directory of another user are that user's to replace.
func TestInitWritesNothingIntoDirectoriesOfOtherUsers(t *testing.T) {
	const nobody = 65534
	dir := filepath.Join(t.TempDir(), "theirs")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	precious := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) error {
		c := initCommand()
		c.SetArgs(args)
		c.SetOut(io.Discard)
		c.SetErr(io.Discard)
		return c.Execute()
	}
	if err := run("--loopback", dir, "a", "b", "c"); err == nil || !strings.Contains(err.Error(), "belongs to user 65534") {
		t.Errorf("into a directory of nobody: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("wrote %v", left)
	}
	ours := t.TempDir()
	if err := os.Symlink(precious, filepath.Join(ours, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := run("--loopback", ours, "--force", "a", "b", "c"); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("through a link: %v", err)
	}
	if b, _ := os.ReadFile(precious); string(b) != "precious" {
		t.Errorf("the file that a link leads to holds %q", b)
	}
}
