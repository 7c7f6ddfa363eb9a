-- Records an applied migration.
-- gives: nothing
insert into dogged.schema_migrations (version, name, checksum, applied_by)
values (@version::int, @name::text, @checksum::text, @applied_by::text)
