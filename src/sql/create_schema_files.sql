-- The files of the SQL interface (views, functions), which are applied again when they change.
create table if not exists dogged.schema_files (
  name       text primary key,
  checksum   text not null,
  applied_at timestamptz not null default now(),
  applied_by text not null
)
