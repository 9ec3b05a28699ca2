package cluster

import (
	"encoding/binary"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// A Reign is a time during which a program was told throughout that it leads, by its own readings of the host's clock.
type Reign struct {
	Token        uint64
	Since, Until int64
}

const reignSize = 24

// diary is where a program writes down its present reign, over the one before. What it wrote is there after a kill -9:
// it is with the kernel, though not on the disk.
type diary struct{ file *os.File }

// openDiary opens a diary. Without one the reign is told only when it has ended in good order.
func openDiary(path string) diary {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return diary{}
	}
	return diary{f}
}

func (d diary) write(r Reign) {
	if d.file == nil {
		return
	}
	var b [reignSize]byte
	binary.LittleEndian.PutUint64(b[:], r.Token)
	binary.LittleEndian.PutUint64(b[8:], uint64(r.Since))
	binary.LittleEndian.PutUint64(b[16:], uint64(r.Until))
	_, _ = d.file.WriteAt(b[:], 0)
}

func (d diary) close() {
	if d.file != nil {
		_ = d.file.Close()
	}
}

// diaryOf returns where the program of a named group writes.
func diaryOf(path, group string) string {
	if path == "" {
		return ""
	}
	return path + "." + url.PathEscape(group)
}

// Reign returns what the leading program of a member wrote down last.
func (t *Cluster) Reign(name string) (Reign, error) {
	return readReign(name, filepath.Join(t.Dir, name+".diary"))
}

// NamedReign returns the same of a named group.
func (t *Cluster) NamedReign(name, group string) (Reign, error) {
	return readReign(name, diaryOf(filepath.Join(t.Dir, name+".diary"), group))
}

func readReign(name, path string) (Reign, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Reign{}, err
	}
	if len(b) != reignSize {
		return Reign{}, fmt.Errorf("diary of %s: %d bytes instead of %d", name, len(b), reignSize)
	}
	return Reign{Token: binary.LittleEndian.Uint64(b), Since: int64(binary.LittleEndian.Uint64(b[8:])),
		Until: int64(binary.LittleEndian.Uint64(b[16:]))}, nil
}
