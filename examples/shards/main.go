// Shards shares the keys of a table among several processes. Each key has one owner, which alone works on it. When owners
// are lost, the fault manager of the group gives their shares to who is left. Start it on each of several hosts, or several
// times on one, with the same council and another name:
//
//	shards -name a -council a=127.0.0.1:7401,b=127.0.0.1:7402,c=127.0.0.1:7403 -dir /tmp/shards/a -db /tmp/shards/db
//
// Kill one (kill -9), stop one (kill -STOP), unplug one: within two seconds its keys are worked on by others, and never by two
// at once. Start it again, or plug it in: it is taken in, and gets a share of what is lost next.
//
// Who owns what is in a database that all can reach. Three rules make it right:
//
//  1. Only the manager gives keys away, and only those whose owner is not in its view. When a manager receives a view, the
//     programs of all that are not in it have stopped. (It does not look at the list of who failed: a member that failed and
//     is back is in both, and may be at work.)
//  2. The manager writes behind a fence, with the token of its view, and a member that was taken in reads nothing before that
//     token, or a later one, is there. So a manager that was replaced, and does not know it yet, takes nothing from it.
//  3. A member works only while it is in the group: while the context that it was given has not ended.
//
// So a key changes hands only while its owner is out, and what a member has read is its own until it is out itself.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
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
	keys := flag.Int("keys", 12, "how many keys the table has")
	every := flag.Duration("every", time.Second, "how often an owner works on its keys")
	flag.Parse()
	c := regent.Config{Name: *name, Dir: *dir, Bootstrap: true, Consistent: true}
	for member := range strings.SplitSeq(*council, ",") {
		name, addr, _ := strings.Cut(member, "=")
		c.Council = append(c.Council, regent.Peer{Name: name, Addrs: []string{addr}})
	}
	if err := c.ReadKeys(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "shards:", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, c, *file, *keys, *every); err != nil {
		fmt.Fprintln(os.Stderr, "shards:", err)
		os.Exit(1)
	}
}

// work is what only the owner of a key may do. It must end soon after ctx does: within the guard time, the others wait.
var work = func(_ context.Context, l *regent.Membership, key string) {
	fmt.Printf("%s: in the group for another %v\n", key, l.Remaining())
}

func run(ctx context.Context, c regent.Config, file string, keys int, every time.Duration) error {
	t, err := open(ctx, file, keys)
	if err != nil {
		return err
	}
	defer t.db.Close()
	m, err := regent.Join(ctx, c)
	if err != nil {
		return err
	}
	defer m.Leave(context.Background())
	g, err := m.ConsistentGroup("shards")
	if err != nil {
		return err
	}
	return g.TakePart(ctx, func(ctx context.Context, l *regent.Membership) error {
		fmt.Println("taken in:", l.First())
		var managing sync.WaitGroup
		managing.Go(func() { manage(ctx, t, g, l) })
		defer managing.Wait()
		for wait(ctx, every) {
			own, err := t.owned(ctx, l.Token(), c.Name)
			report(ctx, err)
			for _, key := range own {
				if ctx.Err() == nil {
					work(ctx, l, key)
				}
			}
		}
		return nil
	})
}

// manage recovers what was lost, whenever this member is the fault manager, and tries as long as there is no later view.
func manage(ctx context.Context, t *shardTable, g *regent.ConsistentGroup, l *regent.Membership) {
	for v := range l.Views(ctx) {
		for now := v; sameRecovery(now, v) && ctx.Err() == nil; now, _ = g.View(ctx) {
			err := t.reassign(ctx, v)
			if err == nil {
				fmt.Println("shared out:", v)
				err = l.Recovered(ctx, v)
			}
			if err == nil {
				break
			}
			report(ctx, err)
			wait(ctx, 100*time.Millisecond)
		}
	}
}

// sameRecovery says whether a view still asks for the recovery that another one asked for.
func sameRecovery(now, v regent.View) bool {
	return now.Agreement != nil && now.Agreement.Recover && now.Token == v.Token && now.Agreement.Number == v.Agreement.Number
}

// report prints what went wrong. Its callers try again.
func report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "shards: will try again:", err)
	}
}

// wait says whether there was time for that.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// shardTable is who owns what.
type shardTable struct {
	db    *sql.DB
	marks *sqlfence.Table
}

const resource = "shards"

func open(ctx context.Context, file string, keys int) (*shardTable, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)")
	if err != nil {
		return nil, err
	}
	// SQLite does not wait for a process that turns its log on at the same time, whatever the timeout.
	for range 50 {
		if err = db.PingContext(ctx); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		return nil, err
	}
	marks, err := sqlfence.New(sqlfence.SQLite, "fence")
	if err != nil {
		return nil, err
	}
	if err := marks.Create(ctx, db); err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS work (key TEXT PRIMARY KEY, owner TEXT NOT NULL)`); err != nil {
		return nil, err
	}
	for i := range keys {
		if _, err := db.ExecContext(ctx, `INSERT OR IGNORE INTO work (key, owner) VALUES (?, '')`, fmt.Sprintf("key%02d", i)); err != nil {
			return nil, err
		}
	}
	return &shardTable{db: db, marks: marks}, nil
}

// reassign gives every key whose owner is not in the view to the member that has fewest. It writes its token even if there is
// nothing to give: others wait for that. Views with one token are of one manager, which shares one after the other.
func (t *shardTable) reassign(ctx context.Context, v regent.View) error {
	tx, err := t.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := t.marks.Admit(ctx, tx, resource, fence.Token(v.Token)); err != nil {
		return err
	}
	has := make(map[string]int)
	var lost []string
	err = query(ctx, tx, func(key, owner string) {
		if slices.Contains(v.Agreement.Members, owner) {
			has[owner]++
		} else {
			lost = append(lost, key)
		}
	})
	if err != nil {
		return err
	}
	for _, key := range lost {
		successor := slices.MinFunc(v.Agreement.Members, func(a, b string) int { return cmp.Compare(has[a], has[b]) })
		if _, err := tx.ExecContext(ctx, `UPDATE work SET owner = ? WHERE key = ?`, successor, key); err != nil {
			return err
		}
		has[successor]++
	}
	return tx.Commit()
}

// owned returns the keys of a member; none before a manager has shared them whose token is at least the given one.
func (t *shardTable) owned(ctx context.Context, since uint64, name string) ([]string, error) {
	tx, err := t.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	mark, err := t.marks.Mark(ctx, tx, resource)
	if err != nil || mark.Token() < since {
		return nil, err
	}
	var own []string
	err = query(ctx, tx, func(key, owner string) {
		if owner == name {
			own = append(own, key)
		}
	})
	return own, err
}

// query calls f for each row.
func query(ctx context.Context, tx *sql.Tx, f func(key, owner string)) error {
	rows, err := tx.QueryContext(ctx, `SELECT key, owner FROM work ORDER BY key`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key, owner string
		if err := rows.Scan(&key, &owner); err != nil {
			return err
		}
		f(key, owner)
	}
	return rows.Err()
}
