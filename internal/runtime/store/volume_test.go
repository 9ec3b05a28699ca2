package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A volume is a file system that promises no more than POSIX does. What was not synchronised is visible to processes, and
// a loss of power may keep or lose each part of it, in any combination: of two changes the later may survive alone.
type volume struct {
	// files and dirs are by number. The root is directory 0.
	files []*inode
	dirs  []*directory
	// calls counts; the call with the number crash is the last that has any effect, and the one with the number fault fails
	// with err. Zero: none.
	calls, crash, fault int
	err                 error
}

// An inode is the content of a file: what processes read, what is durable, and whether they may differ.
type inode struct {
	seen, durable []byte
	// before is what processes read before the file was last emptied.
	before []byte
	// unsynced says that sync has something to write. After a failed sync it has not: what was written is given up.
	unsynced, differs bool
}

// A directory is the names that are durable, and the changes since.
type directory struct {
	durable map[string]entry
	changes []change
}

type entry struct {
	dir    bool
	number int
}

// A change sets a name, after it has taken another away that is not empty.
type change struct {
	removes, sets string
	entry         entry
	// lost changes were given up by a failed sync: they are visible, but no later sync makes them durable.
	lost bool
}

var errCrash = errors.New("the process is gone")

func newVolume() *volume { return &volume{dirs: []*directory{{durable: map[string]entry{}}}} }

// call counts a call. The operation takes place if the error is nil.
func (v *volume) call() error {
	v.calls++
	switch {
	case v.crash != 0 && v.calls > v.crash:
		return errCrash
	case v.calls == v.fault:
		return v.err
	}
	return nil
}

// names returns what processes see in a directory.
func (d *directory) names() map[string]entry {
	all := maps.Clone(d.durable)
	for _, c := range d.changes {
		c.apply(all)
	}
	return all
}

func (c *change) apply(names map[string]entry) {
	delete(names, c.removes)
	if c.sets != "" {
		names[c.sets] = c.entry
	}
}

// find returns the directory that a name is in, and what the name stands for.
func (v *volume) find(name string) (d *directory, base string, e entry, err error) {
	d, e = v.dirs[0], entry{dir: true}
	parts := strings.Split(strings.Trim(name, "/"), "/")
	for i, part := range parts {
		next, ok := d.names()[part]
		last := i == len(parts)-1
		if last || !ok {
			if !ok {
				err = fs.ErrNotExist
			}
			if !last {
				return nil, "", entry{}, err
			}
			return d, part, next, err
		}
		d = v.dirs[next.number]
	}
	return d, "", e, nil
}

type openFile struct{ number int }

func (*openFile) Close() error { return nil }

func (v *volume) open(name string) (io.Closer, error) {
	if err := v.call(); err != nil {
		return nil, err
	}
	d, base, e, err := v.find(name)
	if d == nil {
		return nil, err
	}
	if err == nil {
		f := v.files[e.number]
		f.before, f.seen, f.unsynced, f.differs = f.seen, nil, true, true
		return &openFile{e.number}, nil
	}
	v.files = append(v.files, &inode{})
	d.changes = append(d.changes, change{sets: base, entry: entry{number: len(v.files) - 1}})
	return &openFile{len(v.files) - 1}, nil
}

func (v *volume) reopen(name string) (io.Closer, error) {
	if _, _, _, err := v.find(name); err != nil {
		return nil, err
	}
	return v.open(name)
}

// write fails half-way, as it does on a full disk.
func (v *volume) write(file io.Closer, b []byte) error {
	err := v.call()
	if errors.Is(err, errCrash) {
		return err
	}
	if err != nil {
		b = b[:len(b)/2]
	}
	f := v.files[file.(*openFile).number]
	f.seen = append(slices.Clone(f.seen), b...)
	f.unsynced, f.differs = true, true
	return err
}

func (v *volume) sync(file io.Closer) error {
	err := v.call()
	if errors.Is(err, errCrash) {
		return err
	}
	f := v.files[file.(*openFile).number]
	if err == nil && f.unsynced {
		f.durable, f.differs = f.seen, false
	}
	f.unsynced = false
	return err
}

func (v *volume) rename(from, to string) error {
	if err := v.call(); err != nil {
		return err
	}
	d, base, e, err := v.find(from)
	if err != nil {
		return err
	}
	d.changes = append(d.changes, change{removes: base, sets: path.Base(to), entry: e})
	return nil
}

func (v *volume) syncDir(name string) error {
	err := v.call()
	if errors.Is(err, errCrash) {
		return err
	}
	d := v.dirs[0]
	if name != "/" {
		_, _, e, missing := v.find(name)
		if missing != nil {
			return missing
		}
		d = v.dirs[e.number]
	}
	if err != nil {
		for i := range d.changes {
			d.changes[i].lost = true
		}
		return err
	}
	var rest []change
	for _, c := range d.changes {
		if c.lost {
			rest = append(rest, c)
			continue
		}
		c.apply(d.durable)
		// What was given up before and is now overwritten no longer matters.
		rest = slices.DeleteFunc(rest, func(old change) bool { return old.sets == c.sets })
	}
	d.changes = rest
	return nil
}

func (v *volume) mkdir(name string) error {
	if err := v.call(); err != nil {
		return err
	}
	d, base, _, err := v.find(name)
	if err == nil {
		return fs.ErrExist
	}
	if d == nil {
		return err
	}
	v.dirs = append(v.dirs, &directory{durable: map[string]entry{}})
	d.changes = append(d.changes, change{sets: base, entry: entry{dir: true, number: len(v.dirs) - 1}})
	return nil
}

func (v *volume) exists(name string) error {
	if err := v.call(); err != nil {
		return err
	}
	if name == "/" {
		return nil
	}
	_, _, _, err := v.find(name)
	return err
}

func (v *volume) remove(name string) error {
	if err := v.call(); err != nil {
		return err
	}
	d, base, _, err := v.find(name)
	if err != nil {
		return err
	}
	d.changes = append(d.changes, change{removes: base})
	return nil
}

func (v *volume) read(name string) ([]byte, error) {
	if err := v.call(); err != nil {
		return nil, err
	}
	_, _, e, err := v.find(name)
	if err != nil {
		return nil, err
	}
	return slices.Clone(v.files[e.number].seen), nil
}

func (v *volume) birth(name string) string {
	_, _, e, err := v.find(name)
	if err != nil {
		return ""
	}
	return strconv.Itoa(e.number)
}

// clone returns a copy that runs on: the process was killed, and the power stayed on.
func (v *volume) clone() *volume {
	c := &volume{}
	for _, f := range v.files {
		g := *f
		c.files = append(c.files, &g)
	}
	for _, d := range v.dirs {
		c.dirs = append(c.dirs, &directory{durable: maps.Clone(d.durable), changes: slices.Clone(d.changes)})
	}
	return c
}

// contents returns what a file may hold after a loss of power.
func (f *inode) contents() [][]byte {
	if !f.differs {
		return [][]byte{f.durable}
	}
	all := [][]byte{f.durable, f.before, f.seen, make([]byte, len(f.seen))}
	for n := range f.seen {
		all = append(all, f.seen[:n]) // torn
		if n < len(f.before) {
			all = append(all, append(slices.Clone(f.seen[:n]), f.before[n:]...)) // torn over what was there
		}
	}
	return all
}

// states returns what a directory may hold after a loss of power.
func (d *directory) states() []map[string]entry {
	var all []map[string]entry
	for keep := range 1 << len(d.changes) {
		names := maps.Clone(d.durable)
		for i, c := range d.changes {
			if keep&(1<<i) != 0 {
				c.apply(names)
			}
		}
		all = append(all, names)
	}
	return all
}

// survivors calls f with every state that a loss of power may leave, each once.
func (v *volume) survivors(f func(*volume)) {
	seen := map[string]bool{}
	var dirs func(n int, made *volume)
	var contents func(n int, made *volume)
	contents = func(n int, made *volume) {
		if n < len(v.files) {
			for _, b := range v.files[n].contents() {
				made.files[n] = &inode{seen: b, durable: b}
				if contents(n+1, made); !made.reaches(n) {
					break // nobody can tell what it holds
				}
			}
			return
		}
		if shape := made.String(); !seen[shape] {
			seen[shape] = true
			f(made.clone())
		}
	}
	dirs = func(n int, made *volume) {
		if n == len(v.dirs) {
			contents(0, made)
			return
		}
		for _, names := range v.dirs[n].states() {
			made.dirs[n] = &directory{durable: names}
			dirs(n+1, made)
		}
	}
	dirs(0, &volume{files: make([]*inode, len(v.files)), dirs: make([]*directory, len(v.dirs))})
}

// reaches says whether any directory names the file.
func (v *volume) reaches(file int) bool {
	for _, d := range v.dirs {
		for _, e := range d.durable { // order does not matter: any will do
			if !e.dir && e.number == file {
				return true
			}
		}
	}
	return false
}

// String shows all files below the root.
func (v *volume) String() string {
	var b strings.Builder
	var walk func(at string, d *directory)
	walk = func(at string, d *directory) {
		names := d.names()
		for _, name := range slices.Sorted(maps.Keys(names)) {
			e := names[name]
			if e.dir {
				fmt.Fprintf(&b, "%s/%s/\n", at, name)
				walk(at+"/"+name, v.dirs[e.number])
				continue
			}
			fmt.Fprintf(&b, "%s/%s %q\n", at, name, v.files[e.number].seen)
		}
	}
	walk("", v.dirs[0])
	return b.String()
}
