package sqlfence

import (
	"go/build"
	"strings"
	"testing"
)

// The tests on a database are in examples/sqlfence: this module needs no driver.

func TestOnlyPlainTableNamesAreTaken(t *testing.T) {
	for _, name := range []string{"", "a b", "a;drop table x", `"a"`, "1a", "a.b.c", "a.", strings.Repeat("a", 64)} {
		if _, err := New(SQLite, name); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
	for _, name := range []string{"a", "app.regent_fence", "_x1"} {
		if _, err := New(PostgreSQL, name); err != nil {
			t.Error(err)
		}
	}
	if _, err := New(0, "a"); err == nil {
		t.Error("no dialect is a dialect")
	}
}

func TestPostgreSQLGetsNumberedParameters(t *testing.T) {
	table, err := New(PostgreSQL, "app.marks")
	if err != nil {
		t.Fatal(err)
	}
	for statement, parameters := range map[string]int{table.create: 0, table.admit: 5, table.mark: 1} {
		if strings.ContainsAny(statement, "?{}") || strings.Count(statement, "$") != parameters || !strings.Contains(statement, "app.marks") {
			t.Errorf("%s", statement)
		}
	}
}

// Programs that use the package choose their own driver.
func TestNoDriverIsPulledIn(t *testing.T) {
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pkg.Imports {
		if strings.Contains(path, ".") && !strings.HasPrefix(path, "github.com/regentproject/regent/fence") {
			t.Errorf("sqlfence imports %s", path)
		}
	}
}
