package store

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/regentproject/regent/internal/protocol/record"
)

func TestCopyOfADirectoryHasAnotherOrigin(t *testing.T) {
	dir := t.TempDir()
	id, other := filepath.Join(dir, "id"), filepath.Join(dir, "other")
	for name, text := range map[string]string{id: "0123\n", other: "4567\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	make := func(path string) {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	make(a)
	here := originOf(a, []string{filepath.Join(dir, "none"), id})
	if here.Machine == [8]byte{} || here.Moved(originOf(a, []string{id})) {
		t.Errorf("the origin %v is not that of the same place", here)
	}
	if !here.Moved(originOf(a, []string{other})) {
		t.Error("another machine has the same origin")
	}
	if here.Moved(originOf(a, nil)) || here.Moved(record.Origin{}) {
		t.Error("what is not known differs")
	}
	if _, _, ok := born(a); !ok {
		t.Log("this file system does not keep when a directory was made")
		return
	}
	if err := os.Rename(a, filepath.Join(dir, "c")); err != nil {
		t.Fatal(err)
	}
	if here.Moved(originOf(filepath.Join(dir, "c"), []string{id})) {
		t.Error("a directory that was renamed counts as a copy")
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		make(b) // until the clock of the file system has moved
		if here.Moved(originOf(b, []string{id})) {
			return
		}
		if err := os.Remove(b); err != nil {
			t.Fatal(err)
		}
	}
	t.Error("a directory that was made later has the same origin")
}

func TestRecordThatWasPutBackIsACopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	d, err := Open(path, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	write := func(text string) {
		t.Helper()
		if err := d.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	read := func(want string, copied bool) {
		t.Helper()
		if b, err := d.Read(); err != nil || string(b) != want || d.Copied() != copied {
			t.Errorf("read %q, copied %v, %v: want %q, copied %v", b, d.Copied(), err, want, copied)
		}
	}
	name := filepath.Join(path, recordFile)
	write("old")
	read("old", false)
	backup, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	birth := osFiles{}.birth
	before := birth(name)
	if before == "" {
		t.Log("this file system does not keep when a file was made")
		return
	}
	for limit := time.Now().Add(10 * time.Second); birth(name) == before && time.Now().Before(limit); {
		write("new") // until the clock of the file system has moved
	}
	read("new", false)
	if err := os.WriteFile(name, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	read("old", true) // though the file is the same
	write("newest")
	read("newest", false)
	other := filepath.Join(path, "backup")
	if err := os.WriteFile(other, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, name); err != nil {
		t.Fatal(err)
	}
	read("old", true)
}
