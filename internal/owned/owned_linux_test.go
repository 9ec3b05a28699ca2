package owned

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// stranger is a user that is neither root nor this one.
const stranger = 65534

func TestFilesOfOthersAreRefused(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, uid int) string {
		if err := os.WriteFile(path(name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(path(name), uid, uid); err != nil {
			t.Fatal(err)
		}
		return path(name)
	}
	link := func(name, to string, uid int) string {
		if err := os.Symlink(to, path(name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(path(name), uid, uid); err != nil {
			t.Fatal(err)
		}
		return path(name)
	}
	ours, theirs := write("ours", 0), write("theirs", stranger)
	for _, c := range []struct{ path, fails string }{
		{ours, ""}, {theirs, "belongs to user 65534"}, {link("our-link", "ours", 0), ""},
		{link("their-link", "ours", stranger), "belongs to user 65534"}, {link("to-theirs", "theirs", 0), "belongs to user 65534"},
		{link("circle", "circle", 0), "too many symbolic links"}, {dir, "not a regular file"},
	} {
		b, _, err := ReadFile(c.path)
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("read %s: %q, %v", filepath.Base(c.path), b, err)
		}
	}
	for _, c := range []struct{ path, fails string }{
		{ours, ""}, {path("new"), ""}, {theirs, "belongs to user 65534"}, {path("our-link"), "symbolic link"}, {path("their-link"), "symbolic link"},
	} {
		f, err := OpenFile(c.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("write %s: %v", filepath.Base(c.path), err)
		}
		if err == nil {
			_ = f.Close()
		}
	}
	if b, err := os.ReadFile(theirs); string(b) != "theirs" {
		t.Errorf("a file of another user was changed: %q, %v", b, err)
	}
}

func TestDirectoriesOfOthersAreRefused(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name           string
		uid            int
		mode           os.FileMode
		fails, private string
	}{
		{"ours", 0, 0o755, "", ""}, {"theirs", stranger, 0o755, "belongs to user", "belongs to user"},
		{"open", 0, 0o777, "written by every user", "written by every user"}, {"shared", 0, 0o777 | os.ModeSticky, "", "written by every user"},
	} {
		path := filepath.Join(dir, c.name)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, c.uid, c.uid); err != nil {
			t.Fatal(err)
		}
		if err := Dir(path); (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := PrivateDir(path); (err == nil) != (c.private == "") || err != nil && !strings.Contains(err.Error(), c.private) {
			t.Errorf("%s alone: %v", c.name, err)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("ours", link); err != nil {
		t.Fatal(err)
	}
	if err := Dir(link); err != nil {
		t.Errorf("a link of our own: %v", err)
	}
	if err := os.Lchown(link, stranger, stranger); err != nil {
		t.Fatal(err)
	}
	if err := Dir(link); err == nil {
		t.Error("a link of another user was followed")
	}
}
