-- Records that a file of the SQL interface was applied, for the first time or again.
insert into dogged.schema_files (name, checksum, applied_by) values ($1, $2, $3)
    on conflict (name) do update
   set (checksum, applied_at, applied_by) = (excluded.checksum, excluded.applied_at, excluded.applied_by)
