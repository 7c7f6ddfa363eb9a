-- One migrator at a time for this schema, until the transaction ends.
select pg_advisory_xact_lock(hashtextextended('dogged.migrate', 0))
