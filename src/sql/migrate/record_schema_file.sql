-- Records that a file of the SQL interface was applied, for the first time or again.
-- gives: nothing
insert into dogged.schema_files (name, checksum, applied_by) values (@name::text, @checksum::text, @applied_by::text)
    on conflict (name) do update
   set (checksum, applied_at, applied_by) = (excluded.checksum, excluded.applied_at, excluded.applied_by)
