package conformance

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// clientsVar names a directory with other clients than those of the tree: mutants break them there.
const clientsVar = "REGENT_MUTANT_TREE"

// tree returns a directory with the clients below it. Files of a mutant take the place of those of the tree.
func tree(t *testing.T) string {
	t.Helper()
	_ = os.Getenv("REGENT_CLIENTS") // the go command does not see when a client changes: make test sets this to a digest of them, so that no old result counts
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	mutant := os.Getenv(clientsVar)
	if mutant == "" {
		return root
	}
	mixed := t.TempDir()
	for _, from := range []string{root, mutant} {
		err := filepath.WalkDir(filepath.Join(from, "clients"), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(from, path)
			if err != nil {
				return err
			}
			to := filepath.Join(mixed, rel)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			return os.WriteFile(to, text, 0o644)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return mixed
}

// The clients' own tests, with the interpreters that are installed.
func TestUnitsOfTheClients(t *testing.T) {
	root := tree(t)
	for dir, command := range map[string][]string{
		"clients/python":     {"python3", "-m", "unittest", "discover", "-s", "tests"},
		"clients/javascript": {"node", "--test", "test/"},
	} {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = filepath.Join(root, dir)
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %v (run 'make deps' if something is missing)\n%s", dir, command, err, out)
		}
	}
}
