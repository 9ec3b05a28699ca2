package store

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func open(t *testing.T, dir, member string) *Dir {
	t.Helper()
	d, err := Open(dir, member)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func write(t *testing.T, d *Dir, record string) {
	t.Helper()
	if err := d.Write([]byte(record)); err != nil {
		t.Fatal(err)
	}
}

func TestRecordOutlivesTheProcessThatWroteIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "for", "it")
	d := open(t, dir, "a")
	if r, err := d.Read(); r != nil || err != nil {
		t.Fatalf("a new directory has record %q, error %v", r, err)
	}
	for _, record := range []string{"one", "a longer one", "", "binary \x00\n\xff"} {
		write(t, d, record)
		d.Close()
		d = open(t, dir, "a")
		got, err := d.Read()
		if err != nil || string(got) != record || got == nil {
			t.Fatalf("read %q, %v: want %q", got, err, record)
		}
	}
}

func TestSecondProcessIsRefusedAndToldWhoHoldsTheDirectory(t *testing.T) {
	dir := t.TempDir()
	if os.Getenv("STORE_TEST_DIR") != "" {
		_, err := Open(os.Getenv("STORE_TEST_DIR"), "b")
		if !errors.Is(err, ErrInUse) {
			t.Fatalf("second process got %v", err)
		}
		os.Stdout.WriteString(err.Error())
		return
	}
	d := open(t, dir, "a")
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "STORE_TEST_DIR="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.Contains(string(out), "(member a)") {
		t.Errorf("error does not name the holder: %s", out)
	}
	if _, err := Open(dir, "a"); !errors.Is(err, ErrInUse) {
		t.Errorf("second use in one process: got %v", err)
	}
	d.Close()
	open(t, dir, "a")
}

func TestRecordOfAnotherMemberIsRefused(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, "a")
	write(t, d, "x")
	d.Close()
	_, err := open(t, dir, "b").Read()
	if err == nil || errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("got %v: want an error that names a and does not say damaged", err)
	}
}

// A member name and a record may hold anything.
func TestEveryDamageIsNoticed(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, "a \"quoted\" name")
	write(t, d, "incarnation 7\nceiling 1048576")
	name := filepath.Join(dir, recordFile)
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Read(); err != nil {
		t.Fatal(err)
	}
	check := func(what string, i int, b []byte) {
		t.Helper()
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := d.Read(); err == nil {
			t.Errorf("%s at %d: read %q", what, i, r)
		}
	}
	for i := range good {
		flipped := bytes.Clone(good)
		flipped[i] ^= 1
		check("flipped bit", i, flipped)
		check("cut", i, good[:i])
	}
	check("appended byte", len(good), append(bytes.Clone(good), 0))
}

func TestLeftOverOfAnInterruptedWriteIsIgnored(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, "a")
	write(t, d, "old")
	if err := os.WriteFile(filepath.Join(dir, nextFile), []byte("regent rec"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.Close()
	d = open(t, dir, "a")
	if got, err := d.Read(); err != nil || string(got) != "old" {
		t.Fatalf("read %q, %v", got, err)
	}
	write(t, d, "new")
	if got, err := d.Read(); err != nil || string(got) != "new" {
		t.Fatalf("read %q, %v", got, err)
	}
}

// The place of the new record is taken by a directory that cannot be written to: as on a full disk, the write fails
// before the old record is touched.
func TestFailedWriteLosesNothingAndCanBeRepeated(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, "a")
	write(t, d, "old")
	block := filepath.Join(dir, nextFile, "x")
	if err := os.MkdirAll(block, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.Write([]byte("new")); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Fatalf("got %v: want an error that names the member", err)
	}
	if got, err := d.Read(); err != nil || string(got) != "old" {
		t.Fatalf("read %q, %v", got, err)
	}
	if err := os.RemoveAll(filepath.Join(dir, nextFile)); err != nil {
		t.Fatal(err)
	}
	write(t, d, "new")
}

func BenchmarkWrite(b *testing.B) {
	d, err := Open(b.TempDir(), "a")
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	for b.Loop() {
		if err := d.Write(make([]byte, 100)); err != nil {
			b.Fatal(err)
		}
	}
}

// A record that goes to reserved room is found by the next process, is no copy, and room is reserved again. A copy of an earlier record is one.
func TestRecordInReservedRoom(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir, "a")
	write(t, d, "old")
	before, err := os.ReadFile(filepath.Join(dir, recordFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range []string{"new", "newer"} {
		if err := d.WriteReserved([]byte(record)); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Read(); err != nil || string(got) != record || d.Copied() {
			t.Fatalf("read %q, %v; a copy: %v", got, err, d.Copied())
		}
	}
	if err := os.WriteFile(filepath.Join(dir, recordFile), before, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Read(); err != nil || string(got) != "old" || !d.Copied() && d.files.birth(dir) != "" {
		t.Errorf("read %q, %v; a copy: %v", got, err, d.Copied())
	}
	if err := os.Remove(filepath.Join(dir, spareFile)); err != nil {
		t.Fatal(err)
	}
	if err := d.WriteReserved([]byte("no room")); err == nil {
		t.Error("written where no room was reserved")
	}
}
