package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// version is what the modules of the tree call one another.
const version = "v0.0.0-test"

// A tree is one module of the repository.
type tree struct {
	dir   string // relative to the root, with forward slashes
	path  string
	file  *modfile.File
	gomod []byte
	files []string // relative to the root
}

// read returns the modules that go.work uses, with the files of each that git tracks or does not ignore.
func read(ctx context.Context, root string) ([]*tree, error) {
	content, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		return nil, err
	}
	work, err := modfile.ParseWork("go.work", content, nil)
	if err != nil {
		return nil, err
	}
	var all []*tree
	for _, use := range work.Use {
		t := &tree{dir: path.Clean(use.Path)}
		name := path.Join(t.dir, "go.mod")
		t.gomod, err = os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		t.file, err = modfile.Parse(name, t.gomod, nil)
		if err != nil {
			return nil, err
		}
		t.path = t.file.Module.Mod.Path
		all = append(all, t)
	}
	cmd := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(string(out), "\x00") {
		if info, err := os.Lstat(filepath.Join(root, name)); name == "" || err != nil || !info.Mode().IsRegular() {
			continue // err: removed, but not committed yet
		}
		if t := owner(all, name); t != nil {
			t.files = append(t.files, name)
		}
	}
	return all, nil
}

// owner returns the module to which a file belongs: the one with the longest directory.
func owner(all []*tree, name string) *tree {
	var best *tree
	for _, t := range all {
		if inside := t.dir == "." || strings.HasPrefix(name, t.dir+"/"); inside && (best == nil || len(t.dir) >= len(best.dir)) {
			best = t
		}
	}
	return best
}

// ours says whether a module is one of the tree.
func (c *check) ours(path string) bool {
	for _, t := range c.modules {
		if t.path == path {
			return true
		}
	}
	return false
}

// releasable reports what of go.mod only works in this tree.
func (c *check) releasable(t *tree) error {
	var failed []error
	complain := func(line *modfile.Line, format string, args ...any) {
		failed = append(failed, fmt.Errorf("%s:%d: %s", path.Join(t.dir, "go.mod"), line.Start.Line, fmt.Sprintf(format, args...)))
	}
	for _, r := range t.file.Replace {
		complain(r.Syntax, "replaces %s: the go command ignores that in a module that is not the main one; replace it in go.work", r.Old.Path)
	}
	for _, r := range t.file.Require {
		if c.ours(r.Mod.Path) && r.Mod.Version != version {
			complain(r.Syntax, "requires %s: require it at %s, the version of this tree", r.Mod, version)
		}
	}
	return errors.Join(failed...)
}

func (c *check) proxy() string { return filepath.Join(c.temp, "proxy") }

// archive returns where the proxy has the module's files.
func (c *check) archive(t *tree) string {
	return filepath.Join(c.proxy(), filepath.FromSlash(t.path), "@v", version+".zip")
}

// serve lays the modules out as the go command expects it of a proxy.
func (c *check) serve(context.Context) error {
	var failed []error
	for _, t := range c.modules {
		failed = append(failed, c.releasable(t), c.pack(t))
	}
	return errors.Join(failed...)
}

func (c *check) pack(t *tree) error {
	if err := os.MkdirAll(filepath.Dir(c.archive(t)), 0o755); err != nil {
		return err
	}
	var files []modzip.File
	for _, name := range t.files {
		inside := name
		if t.dir != "." {
			inside = strings.TrimPrefix(name, t.dir+"/")
		}
		files = append(files, source{inside, filepath.Join(c.root, filepath.FromSlash(name))})
	}
	var archive bytes.Buffer
	if err := modzip.Create(&archive, module.Version{Path: t.path, Version: version}, files); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Unix(0, 0).UTC()})
	if err != nil {
		return err
	}
	base := strings.TrimSuffix(c.archive(t), ".zip")
	return errors.Join(os.WriteFile(base+".zip", archive.Bytes(), 0o644), os.WriteFile(base+".mod", t.gomod, 0o644),
		os.WriteFile(base+".info", info, 0o644), os.WriteFile(filepath.Join(filepath.Dir(base), "list"), []byte(version+"\n"), 0o644))
}

// A source is a file of the tree that goes into an archive.
type source struct{ inside, place string }

func (s source) Path() string                 { return s.inside }
func (s source) Lstat() (os.FileInfo, error)  { return os.Lstat(s.place) }
func (s source) Open() (io.ReadCloser, error) { return os.Open(s.place) }

// unpack makes a copy of the module, as a user gets it.
func (c *check) unpack(t *tree) (string, error) {
	dir := filepath.Join(c.temp, "tree", filepath.FromSlash(t.path))
	return dir, modzip.Unzip(dir, module.Version{Path: t.path, Version: version}, c.archive(t))
}
