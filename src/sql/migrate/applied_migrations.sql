-- The applied migrations, in order.
-- gives: version int, name text, checksum text, applied_at text
select version, name, checksum, to_char(applied_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as applied_at
  from dogged.schema_migrations order by version
