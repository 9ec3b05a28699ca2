// Ledger writes numbered entries into an SQLite file, from whichever of its processes leads. It shows what a fence is
// for: stop the leading process (kill -STOP) for longer than its lease, and let it go on (kill -CONT). It had made up
// its mind to write before it was stopped, and tries to; the database refuses, because a later leader has written.
//
//	regent keys exchange --dir /tmp/ledger/a --name a > a.pub    # and likewise for b and c
//	regent keys exchange --dir /tmp/ledger/a a.pub b.pub c.pub
//	ledger -name a -council a=127.0.0.1:7401,b=127.0.0.1:7402,c=127.0.0.1:7403 -dir /tmp/ledger/a -db /tmp/ledger/db
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	_ "modernc.org/sqlite"

	"github.com/regentproject/regent"
	"github.com/regentproject/regent/fence"
	"github.com/regentproject/regent/fence/sqlfence"
)

func main() {
	name := flag.String("name", "", "which member of the council this is")
	council := flag.String("council", "", "all members, as name=host:port,...")
	dir := flag.String("dir", "", "directory for the member's record and the keys, as 'regent keys exchange --dir' fills it")
	file := flag.String("db", "", "the database")
	think := flag.Duration("think", 100*time.Millisecond, "how long the program thinks between its stamp and its write")
	flag.Parse()
	if err := run(*name, *council, *dir, *file, *think); err != nil {
		fmt.Fprintln(os.Stderr, "ledger:", err)
		os.Exit(1)
	}
}

func run(name, council, dir, file string, think time.Duration) error {
	// The first signal asks to stop: the function that leads returns, and another process takes over at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Three programs open the file at the same moment. SQLite does not wait for its lock when it changes the journal's mode, so the
	// mode stays the default; and a transaction asks for the lock of writers first, since one that asks for it later may be refused at once.
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		return err
	}
	defer db.Close()
	marks, err := sqlfence.New(sqlfence.SQLite, "fence")
	if err != nil {
		return err
	}
	if err := marks.Create(ctx, db); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS entry (id INTEGER PRIMARY KEY, author TEXT, token INTEGER)`); err != nil {
		return err
	}
	c := regent.Config{Name: name, Dir: dir, Bootstrap: true}
	for member := range strings.SplitSeq(council, ",") {
		name, addr, ok := strings.Cut(member, "=")
		if !ok {
			return fmt.Errorf("council %q: must be a list such as a=host:port,b=host:port", council)
		}
		c.Council = append(c.Council, regent.Peer{Name: name, Addrs: []string{addr}})
	}
	if err := c.ReadKeys(dir); err != nil {
		return err
	}
	m, err := regent.Join(ctx, c)
	if err != nil {
		return err
	}
	defer m.Leave(context.Background())
	g, err := m.Group("ledger")
	if err != nil {
		return err
	}
	return g.Lead(ctx, func(ctx context.Context, l *regent.Lease) error {
		for ctx.Err() == nil {
			stamp, err := l.Edict(ctx) // now the program may write ...
			if err != nil {
				return err
			}
			time.Sleep(think) // ... but who knows how long it takes until it does
			err = write(db, marks, stamp, name)
			var stale *fence.StaleError
			switch {
			case errors.As(err, &stale):
				fmt.Printf("%s: refused: %v\n", name, err)
			case err != nil: // such as a database that another process keeps locked
				fmt.Printf("%s: will try again: %v\n", name, err)
			default:
				fmt.Printf("%s: wrote with token %d\n", name, stamp.Token())
			}
		}
		return nil
	})
}

// write adds an entry, if its stamp is not older than what was written before. Mark and entry are one transaction.
func write(db *sql.DB, marks *sqlfence.Table, stamp regent.Edict, author string) error {
	ctx := context.Background() // a write that was begun is finished: the stamp decides, not the lease
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := marks.Admit(ctx, tx, "ledger", stamp); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO entry (author, token) VALUES (?, ?)`, author, stamp.Token()); err != nil {
		return err
	}
	return tx.Commit()
}
