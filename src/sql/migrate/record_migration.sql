-- Records an applied migration.
insert into dogged.schema_migrations (version, name, checksum, applied_by) values ($1::int, $2, $3, $4)
