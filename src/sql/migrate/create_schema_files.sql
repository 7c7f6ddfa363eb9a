-- Records the applied files of the SQL interface (views, functions), which are applied again when they change. Another
-- migrator may be creating the table at the same time: this statement then waits for it and finds the table.
-- gives: nothing
do $$ begin
  create table if not exists dogged.schema_files (
    name       text primary key,
    checksum   text not null,
    applied_at timestamptz not null default now(),
    applied_by text not null
  );
exception when unique_violation or duplicate_table then null;
end $$
