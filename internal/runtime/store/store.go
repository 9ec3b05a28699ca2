// Package store keeps a member's durable record in a directory.
//
// A record is a few dozen bytes that replace one another. What matters is not speed but that a record, once Write has
// returned, is what the next process finds, whatever happens in between; and that a directory is used by one process
// at a time, because two that count incarnations from one record would speak with one voice.
//
// The record is written beside the old one, synchronised, and renamed over it. So it is never found half written: a
// record that does not match its checksum was damaged later, by something that may have damaged anything, and is not
// believed. The caller treats it like a lost one. (Two slots written in place in turn would be three times as fast, and
// could not tell a torn write, which is harmless, from a rotten newest record, which is not.)
//
// All of that goes through a small interface, files.go. The tests put a file system behind it that keeps apart what was
// not synchronised, crashes after every call, and looks at every state that may survive.
package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/regentproject/regent/internal/owned"
)

const (
	recordFile = "record"
	nextFile   = "record.next"
	spareFile  = "record.spare"
	lockFile   = "lock"
	drainFile  = "drained"
)

// ErrInUse says that another process holds the directory.
var ErrInUse = errors.New("directory is in use")

// ErrDamaged says that there is a record that cannot be believed.
var ErrDamaged = errors.New("record is damaged")

// A Dir is a member's directory, locked. Its methods are not safe for concurrent use, unless they say so.
type Dir struct {
	path   string
	member string
	files  files
	lock   *os.File
	copied bool
	spare  int // how much room is reserved; zero: none, or not known
}

// Open locks the directory for the member, creating it if it does not exist. The lock goes away with the process,
// however that ends.
func Open(path, member string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := makeDir(osFiles{}, path); err != nil {
		return nil, fmt.Errorf("directory for the record of member %q: %w", member, err)
	}
	if err := owned.PrivateDir(path); err != nil {
		return nil, fmt.Errorf("directory for the record of member %q: %w", member, err)
	}
	lock, err := owned.OpenFile(filepath.Join(path, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("directory for the record of member %q: %w", member, err)
	}
	d := &Dir{path: path, member: member, files: osFiles{}, lock: lock}
	if err := d.takeLock(); err != nil {
		lock.Close()
		return nil, err
	}
	return d, nil
}

func (d *Dir) takeLock() error {
	taken, err := tryLock(d.lock)
	if err != nil {
		return fmt.Errorf("lock %s: %w", d.lock.Name(), err)
	}
	if !taken {
		who, _ := io.ReadAll(io.LimitReader(d.lock, 200))
		by := strings.TrimSpace(string(who))
		if by == "" {
			by = "another process"
		}
		return fmt.Errorf("%s: %w by %s: give each member a directory of its own", d.path, ErrInUse, by)
	}
	// Who holds the lock is for people only: a full disk must not keep a member from starting.
	if d.lock.Truncate(0) == nil {
		_, _ = d.lock.WriteAt(fmt.Appendf(nil, "process %d (member %s)\n", os.Getpid(), d.member), 0)
	}
	return nil
}

// Path returns the directory.
func (d *Dir) Path() string { return d.path }

// Read returns the record, nil if there never was one. An error that wraps ErrDamaged says that there was one; any
// other, that it could not be read, which may pass.
func (d *Dir) Read() ([]byte, error) {
	name := filepath.Join(d.path, recordFile)
	b, err := d.files.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("record of member %q: %w", d.member, err)
	}
	member, birth, record, err := decode(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, ErrDamaged, err)
	}
	now := d.files.birth(name)
	d.copied = birth != "" && now != "" && birth != now
	if member != d.member {
		return nil, fmt.Errorf("%s belongs to member %q, not to %q: give each member a directory of its own", name, member, d.member)
	}
	return record, nil
}

// Copied says that the record that Read returned last is in another file than it was written to: somebody has put a copy there, which may
// be old. It shows only where the file system keeps when files were made.
func (d *Dir) Copied() bool { return d.copied }

// Write makes the record durable. If it fails the record counts as not written: the one before it or this one may be
// what the next process finds. Write may be called again, and then does everything again: a file system that failed to
// synchronise a file may have dropped what was written, and report success the next time it is asked.
func (d *Dir) Write(record []byte) error {
	name, next := filepath.Join(d.path, recordFile), filepath.Join(d.path, nextFile)
	if err := writeSync(d.files, d.files.open, next, func(birth string) []byte { return encode(d.member, birth, record) }); err != nil {
		// What was written of it takes up room on a disk that may be full.
		_ = d.files.remove(next)
		return fmt.Errorf("record of member %q: %w", d.member, err)
	}
	return d.replace(next, name, len(record))
}

// WriteReserved makes the record durable as Write does, in room that was reserved on the disk before. It is for a disk that is full. It fails if
// there is no such room, or if the file system needs more to write it. Room is reserved again, if there is some, when a record has been written.
//
// The room is a file of its own, and each serves one record only. The file of the record before would serve as well, and a copy of that record
// could then be put back unnoticed: it would be in the file that it was written to.
func (d *Dir) WriteReserved(record []byte) error {
	name, spare := filepath.Join(d.path, recordFile), filepath.Join(d.path, spareFile)
	if err := writeSync(d.files, d.files.reopen, spare, func(birth string) []byte { return encode(d.member, birth, record) }); err != nil {
		return fmt.Errorf("reserved room for the record of member %q: %w", d.member, err)
	}
	d.spare = 0
	return d.replace(spare, name, len(record))
}

// replace makes a file that was written the record, durably, and sees to it that room is reserved for the next.
func (d *Dir) replace(from, name string, size int) error {
	if err := d.files.rename(from, name); err != nil {
		return fmt.Errorf("record of member %q: %w", d.member, err)
	}
	if err := d.files.syncDir(d.path); err != nil {
		return fmt.Errorf("record of member %q: %w", d.member, err)
	}
	d.reserve(size)
	return nil
}

// spareRoom is what is reserved beyond the size of a record: records grow.
const spareRoom = 4096

// reserve sees to it that there is a file with room for a record that is a little larger than size. Without one WriteReserved fails, and
// nothing else: so errors do not matter.
func (d *Dir) reserve(size int) {
	if d.spare >= size+spareRoom/2 {
		return
	}
	spare := filepath.Join(d.path, spareFile)
	if b, err := d.files.read(spare); err == nil && len(b) >= size+spareRoom/2 {
		d.spare = len(b)
		return
	}
	room := bytes.Repeat([]byte("room for a record\n"), 1+(size+spareRoom)/18) // file systems may keep no room for zeros
	if err := writeSync(d.files, d.files.open, spare, func(string) []byte { return room }); err != nil {
		_ = d.files.remove(spare)
		return
	}
	d.spare = len(room)
}

// SetDrained notes durably whether the member is drained. It may be called while a record is being written.
func (d *Dir) SetDrained(yes bool) error {
	name := filepath.Join(d.path, drainFile)
	var err error
	if yes {
		err = writeSync(d.files, d.files.open, name, func(string) []byte { return []byte("this member leads nothing until 'regent undrain'\n") })
	} else if err = d.files.remove(name); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		err = d.files.syncDir(d.path)
	}
	if err != nil {
		return fmt.Errorf("note that member %q is drained, or is no longer: %w", d.member, err)
	}
	return nil
}

// Drained returns whether the member is drained. It is if the file is there, whatever is in it.
func (d *Dir) Drained() (bool, error) {
	err := d.files.exists(filepath.Join(d.path, drainFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("whether member %q is drained: %w", d.member, err)
	}
	return true, nil
}

// Close gives the directory up. The lock file stays: who removes it could remove another's.
func (d *Dir) Close() error { return d.lock.Close() }

// The file is one line for people and programs, and the record: "regent record 2 <crc32c> <length> <birth of the file> <member>\n".
const magic = "regent record 2"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(member, birth string, record []byte) uint32 {
	sum := crc32.Update(crc32.Checksum([]byte(member), castagnoli), castagnoli, []byte(birth))
	return crc32.Update(sum, castagnoli, record)
}

func encode(member, birth string, record []byte) []byte {
	b := fmt.Appendf(nil, "%s %08x %d %s %s\n", magic, checksum(member, birth, record), len(record), strconv.Quote(birth), strconv.Quote(member))
	return append(b, record...)
}

func decode(b []byte) (member, birth string, record []byte, err error) {
	line, err := bufio.NewReader(bytes.NewReader(b)).ReadString('\n')
	if err != nil {
		return "", "", nil, errors.New("it has no first line")
	}
	rest, ok := strings.CutPrefix(line, magic+" ")
	if !ok {
		return "", "", nil, fmt.Errorf("it begins with %.20q: want %q", line, magic)
	}
	var sum uint32
	var length int
	if _, err := fmt.Sscanf(rest, "%x %d %q %q", &sum, &length, &birth, &member); err != nil {
		return "", "", nil, fmt.Errorf("its first line %.80q cannot be read", line)
	}
	record = b[len(line):]
	if len(record) != length {
		return "", "", nil, fmt.Errorf("it has %d bytes: want %d", len(record), length)
	}
	if got := checksum(member, birth, record); got != sum {
		return "", "", nil, fmt.Errorf("its checksum is %08x: want %08x", got, sum)
	}
	return member, birth, record, nil
}
