// Package postgres is an [engine.Engine] on PostgreSQL: Regent's leases and tokens for teams that operate a database and want no council.
//
// Each group is a row. Its leader renews the lease by an update of that row, one round trip; others read the row, and claim it when it has not changed for a whole lease by
// their own clock. The clock of the server is never read. A notification ends the wait of others after a release; without it they read as often as leases are renewed.
//
// Tokens come from a sequence of the database, which no rollback and no deleted row sets back. They grow with every leadership of every group.
//
// # What it rests on
//
// PostgreSQL must not forget what it has confirmed. Each write asks for synchronous_commit where it is off, and a server with fsync=off is refused. A
// failover to a standby with asynchronous replication may lose the last writes: then two may lead for up to a lease, and a
// token may repeat. Use synchronous replication (synchronous_standby_names), or have every receiver compare tokens (package fence) and raise them after a failover
// (regent engine switch --above).
//
// # The table
//
// [Schema] is the SQL of table and sequence, which 'regent engine sql' prints. The role of the agents needs the rights that its comments name. They
// are made where the search_path of the connection finds them.
package postgres
