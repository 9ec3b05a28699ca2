package tidy

import (
	"fmt"
	"slices"
	"strings"
)

// A layer is a row of the table of layers: packages that stand at the same height. Those of one layer may import one
// another; the compiler refuses circles.
type layer struct {
	name string
	// packages lists directories; dir/... stands for all below dir. The longest entry that fits a package wins.
	packages []string
	// knows lists further layers and directories that its packages may import.
	knows []string
	// modules lists what they may import from elsewhere. Tests may import anything.
	modules []string
}

// column lists the layers of the library from top to bottom: each knows all that stand below it.
var column = []layer{
	{name: "library", packages: []string{".", "engine", "engine/register", "view/...", "why/...", "roster/...", "elector/...", "internal/session/...", "internal/names/...", "internal/councillog/...", "internal/secret/..."},
		modules: []string{"golang.org/x/sys"}},
	{name: "runtime", packages: []string{"internal/runtime/...", "internal/guardian/process"}, modules: []string{"golang.org/x/sys"}},
	{name: "io", packages: []string{"internal/transport/...", "internal/wire/...", "internal/clock/...", "internal/page/shared/...", "internal/owned/...", "internal/identity/..."},
		modules: []string{"golang.org/x/sys", "golang.org/x/crypto", "github.com/fxamacker/cbor/v2"}},
	{name: "datagrams", packages: []string{"internal/datagram/..."}},
	{name: "protocols", packages: []string{"internal/protocol/...", "internal/tenure/...", "internal/page", "internal/guardian", "internal/obituary"}, modules: []string{"golang.org/x/crypto"}},
	{name: "contract", packages: []string{"internal/protocol"}},
	{name: "stamps", packages: []string{"internal/stamp/...", "fence/..."}},
}

// beside lists the layers that stand beside the column and know only what they name.
var beside = []layer{
	{name: "faults", packages: []string{"internal/transport/fault/...", "internal/transport/memory/...", "internal/transport/relay/...",
		"internal/transport/loopback/...", "internal/runtime/inmemory/..."}, knows: []string{"runtime", "io"}, modules: []string{"golang.org/x/sys"}},
	{name: "engines under test", packages: []string{"engine/enginetest"}, knows: []string{"library", "internal/clock"}},
	{name: "engines", packages: []string{"engines/..."}, knows: []string{"library", "engines under test"},
		modules: []string{"github.com/jackc/pgx/v5", "go.etcd.io/etcd/client/v3", "go.uber.org/zap"}},
	{name: "agent", packages: []string{"agent/..."}, knows: []string{"library", "internal/clock", "internal/owned", "internal/identity", "internal/runtime/parent", "internal/runtime/party", "internal/runtime/thread", "internal/runtime/world",
		"internal/page/shared", "protocols", "contract"},
		modules: []string{"github.com/prometheus/client_golang", "github.com/prometheus/client_model", "github.com/goccy/go-yaml", "github.com/mdlayher/netlink", "golang.org/x/sys"}},
	{name: "measurements", packages: []string{"agent/plan/measure/..."}, knows: []string{"agent", "runtime", "contract"}},
	{name: "rooms under test", packages: []string{"agent/core/coretest/..."}, knows: []string{"library", "agent", "processes"}},
	{name: "processes", packages: []string{"agent/cluster/...", "agent/demo/..."},
		knows:   []string{"library", "runtime", "faults", "engines under test", "agent/web", "screen", "fence"},
		modules: []string{"golang.org/x/sys", "golang.org/x/term"}},
	{name: "screen", packages: []string{"agent/terminal/..."}, modules: []string{"charm.land/bubbletea/v2", "golang.org/x/sys", "golang.org/x/term"}},
	{name: "command line", packages: []string{"agent/cli/..."}, knows: []string{"agent/web", "internal/names"},
		modules: []string{"github.com/spf13/cobra", "golang.org/x/term"}},
	{name: "façades", packages: []string{"facades/..."}, knows: []string{"library", "agent", "contract"}, modules: []string{"go.etcd.io/etcd/api/v3", "google.golang.org/grpc"}},
	{name: "programs", packages: []string{"cmd/..."}, knows: []string{"library", "engines", "façades", "agent", "measurements", "processes", "checkpoints", "screen", "command line", "internal/owned", "internal/identity"},
		modules: []string{"github.com/spf13/cobra", "golang.org/x/term"}},
	{name: "checkpoints", packages: []string{"checkpoint/..."}, knows: []string{"library"}, modules: []string{"github.com/klauspost/reedsolomon"}},
	{name: "simulator", packages: []string{"sim/..."}, knows: []string{"checkpoints", "internal/wire", "internal/wire/wiretest", "datagrams", "protocols", "contract", "stamps"}},
	{name: "lab", packages: []string{"sim/lab/..."}, knows: []string{"simulator", "protocols", "contract", "stamps"},
		modules: []string{"gonum.org/v1/gonum", "gonum.org/v1/plot"}},
	{name: "replay", packages: []string{"sim/replay/..."}, knows: []string{"library", "simulator", "protocols", "contract", "agent/web"}},
	{name: "simulator programs", packages: []string{"sim/cmd/..."},
		knows:   []string{"simulator", "lab", "replay", "command line", "agent/web"},
		modules: []string{"github.com/spf13/cobra", "golang.org/x/term"}},
	{name: "bench", packages: []string{"bench/..."}, knows: []string{"library", "runtime", "processes", "internal/wire", "agent/plan"}, modules: []string{"golang.org/x/sys"}},
	{name: "peers", packages: []string{"bench/peers/..."}, knows: []string{"library", "processes"},
		modules: []string{"github.com/go-redsync/redsync/v4", "github.com/go-zookeeper/zk", "github.com/hashicorp/raft", "github.com/hashicorp/go-hclog", "github.com/redis/go-redis/v9", "go.etcd.io/etcd/client/v3", "go.uber.org/zap"}},
	{name: "examples", packages: []string{"examples/..."}, knows: []string{"library", "checkpoints", "fence", "fence/sqlfence", "fence/httpfence"},
		modules: []string{"modernc.org/sqlite"}},
	{name: "locks of Kubernetes", packages: []string{"kube/regentlock/..."}, knows: []string{"library", "fence"},
		modules: []string{"k8s.io/apimachinery", "k8s.io/client-go", "sigs.k8s.io/controller-runtime"}},
	{name: "house", packages: []string{"internal/tidy/...", "internal/mutants/...", "internal/tools/..."}, modules: []string{"golang.org/x/mod"}},
}

// Layers reports imports that point upwards, sideways or to a module that the layer must not need, and packages that
// have no layer.
func Layers(packages []*Package) []Problem {
	var found []Problem
	for _, p := range packages {
		from := layerOf(p.Rel)
		if from == nil {
			found = append(found, Problem{File: p.Rel, Text: "belongs to no layer: add it to the table in internal/tidy/layers.go"})
			continue
		}
		for f := range p.production {
			for _, spec := range f.AST.Imports {
				path := strings.Trim(spec.Path.Value, "`\"")
				if why := from.refuses(p.Tree, path); why != "" {
					found = append(found, p.at(spec.Pos(), "%s", why))
				}
			}
		}
	}
	return sorted(found)
}

// refuses says why a package of the layer may not import path; nothing if it may.
func (l *layer) refuses(tree, path string) string {
	rel, ours := relative(tree, path)
	if !ours {
		first, _, _ := strings.Cut(path, "/")
		if !strings.Contains(first, ".") { // the standard library
			return ""
		}
		if slices.ContainsFunc(l.modules, func(m string) bool { return path == m || strings.HasPrefix(path, m+"/") }) {
			return ""
		}
		return fmt.Sprintf("the layer %q imports %s: it is not among the modules that the layer may need", l.name, path)
	}
	to := layerOf(rel)
	switch {
	case to == nil:
		return fmt.Sprintf("imports %s, which belongs to no layer", rel)
	case to.name == l.name || slices.Contains(l.knows, to.name) || slices.Contains(l.knows, rel):
		return ""
	}
	if i, j := height(l.name), height(to.name); i >= 0 && j > i {
		return ""
	}
	return fmt.Sprintf("the layer %q imports %s of the layer %q, which it must not know", l.name, rel, to.name)
}

// height returns the place of a layer in the column, counted from the top, or -1 if it stands beside.
func height(name string) int {
	return slices.IndexFunc(column, func(l layer) bool { return l.name == name })
}

// relative returns the directory of a package of the tree.
func relative(tree, path string) (rel string, ours bool) {
	if path == tree {
		return ".", true
	}
	return strings.CutPrefix(path, tree+"/")
}

// layerOf returns the layer whose entry fits rel best.
func layerOf(rel string) *layer {
	var best *layer
	length := -1
	for _, rows := range [][]layer{column, beside} {
		for i := range rows {
			for _, pattern := range rows[i].packages {
				n := 2 * len(pattern)
				if dir, ok := strings.CutSuffix(pattern, "/..."); ok {
					n = 2*len(dir) - 1 // of dir and dir/..., which both fit dir, the exact one wins
				}
				if matches(pattern, rel) && n > length {
					best, length = &rows[i], n
				}
			}
		}
	}
	return best
}

// matches says whether a pattern fits a directory.
func matches(pattern, rel string) bool {
	if dir, ok := strings.CutSuffix(pattern, "/..."); ok {
		return rel == dir || strings.HasPrefix(rel, dir+"/")
	}
	return rel == pattern
}

func matchesAny(patterns []string, rel string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, rel) })
}
