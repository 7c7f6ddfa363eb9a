-- Which migrations and schema files were applied, with the SHA-256 of their text.
create table if not exists dogged.schema_migrations (
  version    integer primary key,
  name       text not null,
  checksum   text not null,
  applied_at timestamptz not null default now(),
  applied_by text not null
)
