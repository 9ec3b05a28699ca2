// Package sqlfence_test tries the table of marks of fence/sqlfence on SQLite. It is here, and not beside the table, so that
// the library's module requires no database.
package sqlfence_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/regentproject/regent/fence"
	"github.com/regentproject/regent/fence/sqlfence"
)

const (
	first  = "0.5.1000:0/1@10,1/1@20"
	second = "0.5.1001:0/1@10,1/1@20"
	third  = "0.7.3:1/1@21,2/1@30"
	epoch1 = "1.8.-4:0/1@1"
)

// open returns a database file with the table of marks and a log of what was written.
func open(t testing.TB) (*sql.DB, *sqlfence.Table) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "test.db")+"?_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	table, err := sqlfence.New(sqlfence.SQLite, "regent_fence")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // creating it again is harmless
		if err := table.Create(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec(`CREATE TABLE log (n INTEGER PRIMARY KEY AUTOINCREMENT, token BIGINT, counter BIGINT)`); err != nil {
		t.Fatal(err)
	}
	return db, table
}

// write admits the stamp and logs the write, in one transaction.
func write(ctx context.Context, db *sql.DB, table *sqlfence.Table, resource string, s fence.Stamp) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := table.Admit(ctx, tx, resource, s); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO log (token, counter) VALUES (?, ?)`, int64(s.Token()), counter(s)); err != nil {
		return err
	}
	return tx.Commit()
}

// counter returns the counter of a full stamp, and the smallest number for a token.
func counter(s fence.Stamp) int64 {
	if !s.Full() {
		return math.MinInt64
	}
	var epoch string
	var token, n int64
	head, _, _ := strings.Cut(s.String(), ":")
	if _, err := fmt.Sscanf(strings.ReplaceAll(head, ".", " "), "%s %d %d", &epoch, &token, &n); err != nil {
		panic(err)
	}
	return n
}

func mark(t *testing.T, db *sql.DB, table *sqlfence.Table, resource string) string {
	t.Helper()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	s, err := table.Mark(t.Context(), tx, resource)
	if err != nil {
		t.Fatal(err)
	}
	return s.String()
}

func parse(t testing.TB, s string) fence.Stamp {
	t.Helper()
	if s == "" {
		return fence.Stamp{}
	}
	st, err := fence.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// The table must decide as a gate in memory does, for every pair of mark and stamp that do not contradict each other.
func TestTheTableDecidesAsAGateDoes(t *testing.T) {
	db, table := open(t)
	stamps := []string{"", "4", "5", "6", "7", "8", first, second, third, epoch1}
	for i, m := range stamps {
		for j, s := range stamps {
			resource := fmt.Sprint(i, "/", j)
			gate := fence.NewGate(parse(t, m))
			if m != "" {
				if err := write(t.Context(), db, table, resource, parse(t, m)); err != nil {
					t.Fatal(err)
				}
			}
			want, got := gate.Admit(parse(t, s)), write(t.Context(), db, table, resource, parse(t, s))
			if fmt.Sprint(want) != fmt.Sprint(got) {
				t.Errorf("%q after %q: %v; a gate says %v", s, m, got, want)
			}
			if now := mark(t, db, table, resource); now != gate.Mark().String() {
				t.Errorf("%q after %q: mark %q; a gate has %q", s, m, now, gate.Mark())
			}
		}
	}
}

func TestOneTokenInTwoLeadershipsIsInconsistent(t *testing.T) {
	db, table := open(t)
	if err := write(t.Context(), db, table, "r", parse(t, first)); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"0.5.2000:1/1@21,2/1@30", "1.5.2000:0/1@10,1/1@20"} {
		if err := write(t.Context(), db, table, "r", parse(t, s)); !errors.Is(err, fence.ErrInconsistent) {
			t.Errorf("%s: %v", s, err)
		}
	}
	if m := mark(t, db, table, "r"); m != first {
		t.Errorf("mark %s", m)
	}
}

func TestTheMarkGoesBackWithItsTransaction(t *testing.T) {
	db, table := open(t)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Admit(t.Context(), tx, "r", parse(t, third)); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if m := mark(t, db, table, "r"); m != "" {
		t.Errorf("mark %s of a write that never happened", m)
	}
	if err := write(t.Context(), db, table, "r", parse(t, first)); err != nil {
		t.Errorf("refused because of a write that never happened: %v", err)
	}
}

func TestResourcesHaveMarksOfTheirOwn(t *testing.T) {
	db, table := open(t)
	if err := write(t.Context(), db, table, "a", parse(t, third)); err != nil {
		t.Fatal(err)
	}
	if err := write(t.Context(), db, table, "b'; drop table log; --", parse(t, first)); err != nil {
		t.Errorf("another resource: %v", err)
	}
}

// Leaders old and new write from many connections at once. The log, which the database wrote in the order of its
// transactions, must be in the order of the stamps.
func TestConcurrentTransactionsNeverGoBack(t *testing.T) {
	db, table := open(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	stale := 0
	for i := range 6 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(7, uint64(i)))
			for n := range 60 {
				token := 1 + n/4 + rnd.IntN(6)
				s := parse(t, fmt.Sprintf("0.%d.%d:0/1@%d,1/1@%d", token, n*10+rnd.IntN(30), 100+token, 200+token))
				err := write(t.Context(), db, table, "r", s)
				var se *fence.StaleError
				switch {
				case errors.As(err, &se):
					mu.Lock()
					stale++
					mu.Unlock()
				case err != nil:
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	rows, err := db.Query(`SELECT token, counter FROM log ORDER BY n`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var last [2]int64
	done := 0
	for rows.Next() {
		var now [2]int64
		if err := rows.Scan(&now[0], &now[1]); err != nil {
			t.Fatal(err)
		}
		if cmp.Or(cmp.Compare(last[0], now[0]), cmp.Compare(last[1], now[1])) > 0 {
			t.Errorf("%v was written after %v", now, last)
		}
		last = now
		done++
	}
	if done < 10 || stale < 10 {
		t.Errorf("%d written, %d stale: nothing was shown", done, stale)
	}
}

// The stale leader is in the middle of its transaction when its successor begins one: the successor waits for it, and
// cannot be overtaken by it afterwards.
func TestASuccessorWaitsForAnOpenTransaction(t *testing.T) {
	db, table := open(t)
	old, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Admit(t.Context(), old, "r", parse(t, first)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- write(t.Context(), db, table, "r", parse(t, third)) }()
	if _, err := old.Exec(`INSERT INTO log (token, counter) VALUES (5, 1000)`); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		t.Fatalf("the successor did not wait: %v", err)
	default:
	}
	if err := old.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if err := write(t.Context(), db, table, "r", parse(t, second)); err == nil {
		t.Error("the old leader wrote after its successor")
	}
}

func TestADamagedMarkIsAnError(t *testing.T) {
	db, table := open(t)
	if _, err := db.Exec(`INSERT INTO regent_fence VALUES ('r', 9, 0, 'x', 'y')`); err != nil {
		t.Fatal(err)
	}
	err := write(t.Context(), db, table, "r", parse(t, first))
	if err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("error %v", err)
	}
}
