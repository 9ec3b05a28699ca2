package tidy

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A module is a row of the table of modules.
type module struct {
	dir string // relative to the root of the tree
	// knows lists the other modules of the tree that it may import, in tests too.
	knows []string
	// public says that it imports no internal package, in tests neither: it sees what a user sees.
	public bool
	// needs lists the modules from elsewhere that its go.mod may require, for the tests too. What these need is not listed.
	needs []string
	// heavy lists packages whose requirements take minutes to compile. The tests look at them if REGENT_TEST is long; make test-kube sets that.
	heavy []string
}

// modules lists the modules of the tree. All but the library are leaves: heavy requirements never reach those that import it.
var modules = []module{
	{dir: ".", needs: []string{"github.com/fxamacker/cbor/v2", "golang.org/x/crypto", "golang.org/x/sys", "pgregory.net/rapid"}},
	{dir: "agent", knows: []string{"."}, needs: []string{"charm.land/bubbletea/v2", "github.com/goccy/go-yaml", "github.com/mdlayher/netlink", "github.com/prometheus/client_golang", "github.com/prometheus/client_model",
		"github.com/spf13/cobra", "golang.org/x/sys", "golang.org/x/term", "pgregory.net/rapid"}},
	{dir: "checkpoint", knows: []string{"."}, needs: []string{"github.com/klauspost/reedsolomon"}},
	{dir: "cmd/regent", knows: []string{".", "agent", "checkpoint", "engines/etcd", "engines/kubernetes", "engines/postgres", "facades/etcd"}, needs: []string{"github.com/rogpeppe/go-internal", "github.com/spf13/cobra",
		"golang.org/x/sys", "golang.org/x/term"}},
	{dir: "engines/etcd", knows: []string{"."}, public: true, needs: []string{"go.etcd.io/etcd/client/v3", "go.uber.org/zap"}},
	{dir: "engines/kubernetes", knows: []string{"."}, public: true},
	{dir: "engines/postgres", knows: []string{"."}, public: true, needs: []string{"github.com/jackc/pgx/v5"}},
	{dir: "facades/etcd", knows: []string{".", "agent"}, needs: []string{"go.etcd.io/etcd/api/v3", "go.etcd.io/etcd/client/v3", "go.uber.org/zap", "google.golang.org/grpc"}},
	{dir: "sim", knows: []string{".", "agent", "checkpoint"}, needs: []string{"github.com/chromedp/cdproto", "github.com/chromedp/chromedp",
		"github.com/rogpeppe/go-internal", "github.com/spf13/cobra", "golang.org/x/term", "gonum.org/v1/plot"}},
	{dir: "bench", knows: []string{".", "agent"}, needs: []string{"golang.org/x/sys"}},
	{dir: "bench/peers", knows: []string{".", "agent"}, public: true, needs: []string{"github.com/go-redsync/redsync/v4", "github.com/go-zookeeper/zk", "github.com/hashicorp/go-hclog", "github.com/hashicorp/raft", "github.com/redis/go-redis/v9",
		"go.etcd.io/etcd/client/v3", "go.uber.org/zap"}},
	{dir: "examples", knows: []string{".", "agent", "checkpoint"}, public: true, needs: []string{"modernc.org/sqlite"}},
	{dir: "kube/regentlock", knows: []string{".", "agent", "engines/kubernetes"}, public: true, needs: []string{"k8s.io/apimachinery", "k8s.io/client-go", "sigs.k8s.io/controller-runtime"},
		heavy: []string{"kube/regentlock", "kube/regentlock/contend", "kube/regentlock/examples/...", "kube/regentlock/processes"}},
	{dir: "internal/tools", needs: []string{"golang.org/x/mod"}},
}

// moduleOf returns the row of the module to which a directory belongs: the one with the longest directory.
func moduleOf(rel string) *module {
	var best *module
	for i, m := range modules {
		if inside := m.dir == "." || matches(m.dir+"/...", rel); inside && (best == nil || len(m.dir) > len(best.dir)) {
			best = &modules[i]
		}
	}
	return best
}

// Modules reports imports, of tests too, of a module that a module must not know, or of its internal packages.
func Modules(p *Package) []Problem {
	from := moduleOf(p.Rel)
	var found []Problem
	for _, f := range p.Files {
		for _, spec := range f.AST.Imports {
			rel, ours := relative(p.Tree, strings.Trim(spec.Path.Value, "`\""))
			if !ours {
				continue
			}
			if why := from.refuses(rel); why != "" {
				found = append(found, p.at(spec.Pos(), "%s", why))
			}
		}
	}
	return sorted(found)
}

// refuses says why a package of the module may not import the one in rel; nothing if it may.
func (m *module) refuses(rel string) string {
	to := moduleOf(rel)
	switch {
	case to.dir == m.dir:
		return ""
	case !slices.Contains(m.knows, to.dir):
		return fmt.Sprintf("the module %q imports %s of the module %q, which it must not know", m.dir, rel, to.dir)
	case m.public && slices.Contains(strings.Split(rel, "/"), "internal"):
		return fmt.Sprintf("the module %q imports %s: it sees only what a user sees, no internal package", m.dir, rel)
	}
	return ""
}

// Requirements reports what the go.mod of a module requires from elsewhere without need, and a replace in it.
func Requirements(root, tree string, m module) ([]Problem, error) {
	file := filepath.ToSlash(filepath.Join(m.dir, "go.mod"))
	out, err := exec.Command("go", "mod", "edit", "-json", filepath.Join(root, file)).Output()
	if err != nil {
		return nil, fmt.Errorf("go mod edit -json %s: %w", file, err)
	}
	var content struct {
		Require []struct {
			Path     string
			Indirect bool
		}
		Replace []struct{ Old struct{ Path string } }
	}
	if err := json.Unmarshal(out, &content); err != nil {
		return nil, fmt.Errorf("go mod edit -json %s: %w", file, err)
	}
	var found []Problem
	for _, r := range content.Require {
		if _, ours := relative(tree, r.Path); !ours && !r.Indirect && !slices.Contains(m.needs, r.Path) {
			found = append(found, Problem{File: file, Text: "requires " + r.Path + ": it is not among the modules that the table in internal/tidy/modules.go lists"})
		}
	}
	for _, r := range content.Replace {
		found = append(found, Problem{File: file, Text: "replaces " + r.Old.Path + ": only go.work does that, because the go command ignores it in a module that others require"})
	}
	return found, nil
}
