-- The files of the SQL interface as they were last applied.
-- gives: name text, checksum text, applied_at text
select name, checksum, to_char(applied_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as applied_at
  from dogged.schema_files order by name
