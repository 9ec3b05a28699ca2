package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/regentproject/regent/engine"
	"github.com/regentproject/regent/engine/register"
)

// Open returns the engine on the database of a connection string, such as "postgres://regent@db/app". Passwords belong into a file
// (passfile, or PGPASSFILE) or the environment. It does not connect yet. Close its database with the function.
func Open(dsn string) (e engine.Engine, closeDB func() error, err error) {
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, nil, fmt.Errorf("engine postgres: %w", err) // pgx leaves the password out
	}
	// Statements that are prepared first take a second round trip on each new connection.
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	// A look at each connection before its use would be a second round trip. One that is broken costs a renewal, and there is time for more.
	db := stdlib.OpenDB(*c, stdlib.OptionShouldPing(func(context.Context, stdlib.ShouldPingParams) bool { return false }))
	db.SetMaxOpenConns(maxConns)
	db.SetMaxIdleConns(idleConns)
	where := net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))) + "/" + c.Database
	return register.New(&hinting{store{db: db, where: where}}), db.Close, nil
}

// maxConns is how many connections an agent uses at most, but for the one that waits for notifications.
const (
	maxConns  = 16
	idleConns = 8
)

// New returns the engine on a database that the program has opened, with any driver of PostgreSQL. Where tells it from others in statuses. It
// gets no notifications: others read rows as often as leases are renewed.
func New(db *sql.DB, where string) engine.Engine { return register.New(&store{db: db, where: where}) }

// A store keeps the entries in the table.
type store struct {
	db    *sql.DB
	where string
}

func (s *store) Name() string  { return "postgres" }
func (s *store) Where() string { return s.where }

func (s *store) Limits() engine.Limits {
	return engine.Limits{Shortest: 500 * time.Millisecond,
		Loss: "a failover of asynchronous replication may lose the last writes: then two may lead for up to a lease, and a token may repeat"}
}

// oldest is the oldest version of PostgreSQL that the engine takes.
const oldest = 120000

func (s *store) Check(ctx context.Context) error {
	var number, syncs, comment string
	var standby, table, rights, sequence bool
	err := s.db.QueryRowContext(ctx, `select current_setting('server_version_num'), current_setting('fsync'), pg_is_in_recovery(),
		to_regclass('regent_groups') is not null and to_regclass('regent_tokens') is not null and to_regclass('regent_floors') is not null,
		coalesce(obj_description(to_regclass('regent_groups'), 'pg_class'), ''),
		coalesce(has_table_privilege(to_regclass('regent_groups'), 'select') and has_table_privilege(to_regclass('regent_groups'), 'insert')
			and has_table_privilege(to_regclass('regent_groups'), 'update'), false),
		coalesce(has_sequence_privilege(to_regclass('regent_tokens'), 'usage') and has_table_privilege(to_regclass('regent_floors'), 'select'), false)`).Scan(&number, &syncs, &standby, &table, &comment, &rights, &sequence)
	if err != nil {
		return fmt.Errorf("%s: %w", s.where, err)
	}
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || n < oldest:
		return fmt.Errorf("%s: server version %s: must be %d or later", s.where, number, oldest/10000)
	case syncs != "on":
		return fmt.Errorf("%s: fsync is %s: a crash may lose a leader (set fsync = on)", s.where, syncs)
	case standby:
		return fmt.Errorf("%s: the server is a standby and takes no writes (connect with target_session_attrs=read-write)", s.where)
	case !table:
		return fmt.Errorf("%s: the table regent_groups, regent_floors or the sequence regent_tokens is missing (run: regent engine sql | psql)", s.where)
	case comment != tag(version):
		return fmt.Errorf("%s: the table regent_groups is %q and must be %q (agents of another version made it)", s.where, comment, tag(version))
	case !rights || !sequence:
		return fmt.Errorf("%s: rights are missing: select, insert and update on regent_groups, usage on regent_tokens, and select on regent_floors ('regent engine sql' shows the grants)", s.where)
	}
	return nil
}

// columns are what queries return.
const columns = `holder, session, token, beat, ttl_ns, value, free`

// durable has the server confirm a write only once it is on disk, where the database is set up otherwise. It costs no round trip.
const durable = `set_config('synchronous_commit', case when current_setting('synchronous_commit') in ('off', 'local') then 'on' else current_setting('synchronous_commit') end, true)`

// notify ends the waits of others if the row is free.
const notify = `case when free then pg_notify('regent_groups', name)::text end`

// token draws a token: numbers of the sequence are not set back by a deleted row, and the floor never gets lower.
const token = `nextval('regent_tokens') + (select coalesce(max(above), 0) from regent_floors)`

const (
	readRow   = `select ` + columns + ` from regent_groups where name = $1`
	insertRow = `insert into regent_groups (name, holder, session, token, beat, ttl_ns, value, free) values ($1, $2, $3, ` + token + `, $4, $5, $6, $7)
		on conflict (name) do nothing returning ` + columns + `, ` + durable
	updateRow = `update regent_groups set holder = $2, session = $3, token = case when $4::bigint = 0 then greatest(` + token + `, token + 1) else $4::bigint end,
		beat = $5, ttl_ns = $6, value = $7, free = $8 where name = $1 and token = $9 and beat = $10 returning ` + columns + `, ` + durable + `, ` + notify
)

// query is how long a statement may take that was begun in time. A driver gives up the connection of one that is not done, and to connect
// again costs a busy server more than to finish it.
const query = 10 * time.Second

// with calls f with a connection that it gets before ctx ends, and with another context.
func (s *store) with(ctx context.Context, f func(ctx context.Context, c *sql.Conn) error) error {
	c, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	longer, cancel := context.WithTimeout(context.WithoutCancel(ctx), query)
	defer cancel()
	return f(longer, c)
}

func (s *store) Read(ctx context.Context, group string) (e register.Entry, err error) {
	err = s.with(ctx, func(ctx context.Context, c *sql.Conn) error {
		e, err = read(ctx, c, group)
		return err
	})
	return e, err
}

func read(ctx context.Context, c *sql.Conn, group string) (register.Entry, error) {
	e, err := scan(c.QueryRowContext(ctx, readRow, group))
	if errors.Is(err, sql.ErrNoRows) {
		return register.Entry{}, nil
	}
	return e, err
}

func (s *store) Swap(ctx context.Context, group string, old, next register.Entry) (now register.Entry, swapped bool, err error) {
	err = s.with(ctx, func(ctx context.Context, c *sql.Conn) error {
		if old.Absent() {
			now, err = scan(c.QueryRowContext(ctx, insertRow, group, next.Holder, next.Session, number(next.Beat), int64(next.TTL), next.Value, next.Free), new(string))
		} else {
			now, err = scan(c.QueryRowContext(ctx, updateRow, group, next.Holder, next.Session, number(next.Token), number(next.Beat), int64(next.TTL), next.Value, next.Free,
				number(old.Token), number(old.Beat)), new(string), new(sql.NullString))
		}
		if errors.Is(err, sql.ErrNoRows) {
			now, err = read(ctx, c, group)
			return err
		}
		swapped = err == nil
		return err
	})
	return now, swapped, err
}

// Raise adds a floor, which is added to all numbers of the sequence. So tokens grow whatever is drawn meanwhile.
func (s *store) Raise(ctx context.Context, _ string, above uint64) error {
	if above > math.MaxInt64/4 {
		return fmt.Errorf("engine postgres: token %d: too large", above)
	}
	if err := s.Check(ctx); err != nil {
		return fmt.Errorf("engine postgres: %w", err)
	}
	if _, err := s.db.ExecContext(ctx, `insert into regent_floors (above) values ($1)`, int64(above)); err != nil {
		return fmt.Errorf("engine postgres: %w", err)
	}
	return nil
}

// number returns a token or a beat as the database has it. They count from 1.
func number(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// scan reads a row, and what stands behind its columns.
func scan(row *sql.Row, rest ...any) (register.Entry, error) {
	var e register.Entry
	var token, beat, ttl int64
	err := row.Scan(append([]any{&e.Holder, &e.Session, &token, &beat, &ttl, &e.Value, &e.Free}, rest...)...)
	if err != nil {
		return register.Entry{}, err
	}
	e.Token, e.Beat, e.TTL = uint64(token), uint64(beat), time.Duration(ttl)
	return e, nil
}

// A hinting store listens for notifications, on a connection of its own.
type hinting struct{ store }

func (s *hinting) Hints(ctx context.Context, f func(group string)) error {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(driver any) error {
		c, ok := driver.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("%T gives no notifications", driver)
		}
		if _, err := c.Conn().Exec(ctx, "listen regent_groups"); err != nil {
			return err
		}
		for {
			n, err := c.Conn().WaitForNotification(ctx)
			if err != nil {
				return err
			}
			f(n.Payload)
		}
	})
}
