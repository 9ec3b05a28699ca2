package postgres

import "fmt"

// version is that of the table.
const version = 1

// tag is the comment of the table, by which its version is known.
func tag(v int) string { return fmt.Sprintf("regent groups, version %d", v) }

// Schema is the SQL that makes what the engine needs. It can be run again.
var Schema = `-- Leaders of groups, elected by Regent. Run this once, as a role that may create tables.
-- The role of the agents needs:
--   grant select, insert, update on regent_groups to ROLE;
--   grant usage on sequence regent_tokens to ROLE;
--   grant select, insert on regent_floors to ROLE;
begin;
create sequence if not exists regent_tokens as bigint no cycle;
create table if not exists regent_groups (
  name    text    primary key,
  holder  text    not null,
  session text    not null,
  token   bigint  not null,
  beat    bigint  not null,
  ttl_ns  bigint  not null,
  value   text    not null,
  free    boolean not null
);
create table if not exists regent_floors (
  above bigint not null
);
comment on table regent_groups is '` + tag(version) + `';
commit;
`
