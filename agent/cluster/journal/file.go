package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// An entry of a file has a fixed length. Its words are aligned, so that a reader sees each whole while the program writes.
//
//	0   Since         8   Seen         16  Until        24  Token
//	32  flags         40  Group, Support and Cause, each as a length of two bytes and text
const (
	entrySize = 512
	seenAt    = 8
	textAt    = 40
	flagLocal = 1
)

// suffix ends the name of each file, after the holder, the process and something that makes it unique.
const suffix = ".journal"

// A Journal is the file of one process. Its methods may be called concurrently.
type Journal struct {
	holder string
	mu     sync.Mutex
	file   *os.File
	used   int64
}

// Open makes a new file in a directory, for the leaderships of a holder.
func Open(dir, holder string) (*Journal, error) {
	f, err := os.CreateTemp(dir, fmt.Sprintf("%s.%d-*%s", url.PathEscape(holder), os.Getpid(), suffix))
	if err != nil {
		return nil, fmt.Errorf("journal of %s: %w", holder, err)
	}
	return &Journal{holder: holder, file: f}, nil
}

// Close closes the file, which stays.
func (j *Journal) Close() error { return j.file.Close() }

// An Entry is one leadership of which the program keeps a record.
type Entry struct {
	journal *Journal
	at      int64
	span    Span
	err     error
}

// Begin begins an entry. Nothing is written before the first Observe that says yes. A nil Journal keeps entries in memory only.
func (j *Journal) Begin(group string, token uint64) *Entry {
	e := &Entry{journal: j, span: Span{Group: group, Token: token}}
	if j == nil {
		return e
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	e.span.Holder, e.span.Pid, e.at = j.holder, os.Getpid(), j.used
	j.used += entrySize
	return e
}

// BeginLocal begins an entry of a local leader, which other members support.
func (j *Journal) BeginLocal(group string, support []string) *Entry {
	e := j.Begin(group, 0)
	e.span.Local, e.span.Support = true, support
	return e
}

// Observe asks whether the program leads, and writes the answer down between two readings of the clock. Between two answers of
// yes about one lease it is yes throughout. It returns the answer.
func (e *Entry) Observe(valid func() bool) bool {
	before := Now()
	if !valid() {
		return false
	}
	after := Now()
	if e.span.Since == 0 {
		e.span.Since, e.span.Seen = after, after
		e.write()
		return true
	}
	if before > e.span.Seen {
		e.span.Seen = before
		e.put(seenAt, binary.LittleEndian.AppendUint64(nil, uint64(before)))
	}
	return true
}

// Supported narrows the support of a local leader down to members that support it now as well.
func (e *Entry) Supported(now []string) {
	var still []string
	for _, s := range e.span.Support {
		for _, n := range now {
			if n == s {
				still = append(still, s)
				break
			}
		}
	}
	if len(still) < len(e.span.Support) {
		e.span.Support = still
		e.write()
	}
}

// End writes down that the program has to stop, and why. The first call counts.
func (e *Entry) End(cause string) {
	if e.span.Until != 0 {
		return
	}
	e.span.Until, e.span.Cause = Now(), cause
	e.write()
}

// Span returns what was written so far.
func (e *Entry) Span() Span { return e.span }

// Err returns why the journal could not be written; nil if it could.
func (e *Entry) Err() error { return e.err }

// write writes the whole entry.
func (e *Entry) write() {
	s := &e.span
	b := make([]byte, 0, entrySize)
	var flags uint64
	if s.Local {
		flags |= flagLocal
	}
	for _, word := range []uint64{uint64(s.Since), uint64(s.Seen), uint64(s.Until), s.Token, flags} {
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	for _, text := range []string{s.Group, strings.Join(s.Support, " "), s.Cause} {
		// What is too long is cut: the cause comes last, and is for people.
		text = text[:max(0, min(len(text), entrySize-len(b)-6))]
		b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
		b = append(b, text...)
	}
	e.put(0, b[:entrySize])
}

func (e *Entry) put(at int64, b []byte) {
	if e.journal == nil {
		return
	}
	if _, err := e.journal.file.WriteAt(b, e.at+at); err != nil {
		e.err = errors.Join(e.err, err)
	}
}

// Read reads all journals in a directory, also while they are written.
func Read(dir string) ([]Span, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil {
		return nil, err
	}
	var all []Span
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(f), suffix)
		end := strings.LastIndexByte(name, '.')
		holder, err := url.PathUnescape(name[:end])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		process, _, _ := strings.Cut(name[end+1:], "-")
		pid, err := strconv.Atoi(process)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		for ; len(b) >= entrySize; b = b[entrySize:] {
			s, err := decode(b[:entrySize])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f, err)
			}
			s.Holder, s.Pid = holder, pid
			if s.Since != 0 { // otherwise it was never observed to lead
				all = append(all, s)
			}
		}
	}
	return all, nil
}

func decode(b []byte) (Span, error) {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	s := Span{Since: Time(word(0)), Seen: Time(word(1)), Until: Time(word(2)), Token: word(3), Local: word(4)&flagLocal != 0}
	var texts [3]string
	rest := b[textAt:]
	for i := range texts {
		if len(rest) < 2 || len(rest) < 2+int(binary.LittleEndian.Uint16(rest)) {
			return s, errors.New("an entry is damaged")
		}
		n := int(binary.LittleEndian.Uint16(rest))
		texts[i], rest = string(rest[2:2+n]), rest[2+n:]
	}
	s.Group, s.Support, s.Cause = texts[0], strings.Fields(texts[1]), texts[2]
	return s, nil
}
