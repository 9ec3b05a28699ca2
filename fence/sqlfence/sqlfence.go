// Package sqlfence keeps the high-water marks of package fence in a database, in the transaction of the write that they
// protect: the mark and the write become visible together or not at all, and of two leaders that write at once the
// database lets one wait for the other.
//
// A table has one row per resource. What a resource is, the program decides: a job queue, a document, the whole
// database. [Table.Admit] is one statement, an upsert that changes nothing if the mark is later; it works on SQLite from
// 3.24 and on PostgreSQL from 9.5, at every isolation level. Call it first in the transaction: SQLite then takes its
// write lock at once instead of failing to upgrade a read lock, and PostgreSQL makes a later leader wait before it has
// read anything that the earlier is about to change.
package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/regentproject/regent/fence"
)

// A Dialect says how a database spells the parameters of a statement.
type Dialect int

// The dialects that the statements are written for.
const (
	SQLite     Dialect = iota + 1 // ?
	PostgreSQL                    // $1
)

// A Table is where marks are kept. It holds statements only, no connection, and can be used by many goroutines.
type Table struct {
	create, admit, mark string
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}(\.[A-Za-z_][A-Za-z0-9_]{0,62})?$`)

// New returns the table of that name, such as regent_fence or app.regent_fence.
func New(d Dialect, name string) (*Table, error) {
	if d != SQLite && d != PostgreSQL {
		return nil, fmt.Errorf("sqlfence: dialect %d: must be SQLite or PostgreSQL", int(d))
	}
	if !identifier.MatchString(name) {
		return nil, fmt.Errorf("sqlfence: table name %q: must be a plain identifier, with or without a schema", name)
	}
	return &Table{
		create: spell(d, name, createSQL),
		admit:  spell(d, name, admitSQL),
		mark:   spell(d, name, markSQL),
	}, nil
}

// Of a token, tenure is empty and counter the smallest number. Otherwise tenure is what a full stamp says beside token
// and counter: the same for all stamps of one leadership, and different for any other.
const createSQL = `CREATE TABLE IF NOT EXISTS {table} (
	resource TEXT PRIMARY KEY,
	token BIGINT NOT NULL,
	counter BIGINT NOT NULL,
	epoch TEXT NOT NULL,
	tenure TEXT NOT NULL
)`

// The row is locked from here to the end of the transaction, also where nothing changes.
const admitSQL = `INSERT INTO {table} AS m (resource, token, counter, epoch, tenure) VALUES ({1}, {2}, {3}, {4}, {5})
ON CONFLICT (resource) DO UPDATE SET
	token = excluded.token,
	counter = CASE WHEN m.token = excluded.token AND excluded.tenure = '' THEN m.counter ELSE excluded.counter END,
	epoch = CASE WHEN m.token = excluded.token AND excluded.tenure = '' THEN m.epoch ELSE excluded.epoch END,
	tenure = CASE WHEN m.token = excluded.token AND excluded.tenure = '' THEN m.tenure ELSE excluded.tenure END
WHERE m.token < excluded.token
	OR m.token = excluded.token AND (m.tenure = '' OR excluded.tenure = ''
		OR m.epoch = excluded.epoch AND m.tenure = excluded.tenure AND m.counter <= excluded.counter)`

const markSQL = `SELECT token, counter, epoch, tenure FROM {table} WHERE resource = {1}`

func spell(d Dialect, table, statement string) string {
	s := strings.ReplaceAll(statement, "{table}", table)
	for i := 1; i <= 5; i++ {
		parameter := "?"
		if d == PostgreSQL {
			parameter = fmt.Sprintf("$%d", i)
		}
		s = strings.ReplaceAll(s, fmt.Sprintf("{%d}", i), parameter)
	}
	return s
}

// Create creates the table if it does not exist.
func (t *Table) Create(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, t.create); err != nil {
		return fmt.Errorf("sqlfence: create the table of marks: %w", err)
	}
	return nil
}

// Admit raises the resource's mark to s within tx, or refuses, as fence.Gate's Admit does and with the same errors. After
// any error the transaction must be rolled back.
//
// The mark is compared by token, then by counter. A full stamp with the token of the mark and another tenure wraps
// fence.ErrInconsistent.
func (t *Table) Admit(ctx context.Context, tx *sql.Tx, resource string, s fence.Stamp) error {
	if s.IsZero() {
		return fence.ErrNoStamp
	}
	p := split(s)
	res, err := tx.ExecContext(ctx, t.admit, resource, p.token, p.counter, p.epoch, p.tenure)
	if err != nil {
		return fmt.Errorf("sqlfence: admit %v to %q: %w", s, resource, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return fmt.Errorf("sqlfence: admit %v to %q: %w", s, resource, err)
	}
	if n > 0 {
		return nil
	}
	seen, err := t.Mark(ctx, tx, resource)
	if err != nil {
		return err
	}
	if q := split(seen); q.token == p.token && (q.tenure != p.tenure || q.epoch != p.epoch) {
		return fmt.Errorf("sqlfence: %w: %v and %v bear one token in two leaderships", fence.ErrInconsistent, s, seen)
	}
	return &fence.StaleError{Got: s, Seen: seen}
}

// Mark returns the high-water mark of the resource, zero if it has none. Outside a transaction it is old news.
func (t *Table) Mark(ctx context.Context, tx *sql.Tx, resource string) (fence.Stamp, error) {
	var p parts
	err := tx.QueryRowContext(ctx, t.mark, resource).Scan(&p.token, &p.counter, &p.epoch, &p.tenure)
	if errors.Is(err, sql.ErrNoRows) {
		return fence.Stamp{}, nil
	}
	if err != nil {
		return fence.Stamp{}, fmt.Errorf("sqlfence: read the mark of %q: %w", resource, err)
	}
	s, err := fence.Parse(p.String())
	if err != nil {
		return fence.Stamp{}, fmt.Errorf("sqlfence: the mark of %q is damaged: %w", resource, err)
	}
	return s, nil
}

// parts are the columns that a stamp takes.
type parts struct {
	token, counter int64
	epoch, tenure  string
}

// split takes the text form apart: it is the public form, and so never changes.
func split(s fence.Stamp) parts {
	p := parts{token: int64(s.Token()), counter: math.MinInt64}
	if s.Full() {
		head, tenure, _ := strings.Cut(s.String(), ":")
		part := strings.Split(head, ".")
		fmt.Sscan(part[2], &p.counter) // a stamp writes it so that it can be read
		p.epoch, p.tenure = part[0], tenure
	}
	return p
}

func (p parts) String() string {
	if p.tenure == "" {
		return fmt.Sprint(p.token)
	}
	return fmt.Sprintf("%s.%d.%d:%s", p.epoch, p.token, p.counter, p.tenure)
}
