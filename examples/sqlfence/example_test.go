package sqlfence_test

import (
	"context"
	"database/sql"
	"fmt"

	_ "modernc.org/sqlite"

	"github.com/regentproject/regent/fence"
	"github.com/regentproject/regent/fence/sqlfence"
)

func ExampleTable_Admit() {
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file:example?mode=memory&cache=shared")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	marks, err := sqlfence.New(sqlfence.SQLite, "regent_fence")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := marks.Create(ctx, db); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := db.Exec(`CREATE TABLE job (name TEXT PRIMARY KEY, state TEXT)`); err != nil {
		fmt.Println(err)
		return
	}

	finish := func(s fence.Stamp, job string) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := marks.Admit(ctx, tx, "jobs", s); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO job VALUES (?, 'done')`, job); err != nil {
			return err
		}
		return tx.Commit()
	}
	fmt.Println(finish(fence.Token(7), "backup"))
	fmt.Println(finish(fence.Token(8), "report"))
	fmt.Println(finish(fence.Token(7), "invoice"))
	// Output:
	// <nil>
	// <nil>
	// fence: stamp 7 is stale: it is of an earlier leadership than 8, which was seen before
}
