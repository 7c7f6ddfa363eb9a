-- Allows one migrator at a time for this schema, until the transaction ends; readers do not wait. An advisory lock
-- would not do, because any session that may connect could take one. A table lock needs the right to change the table.
-- gives: nothing
lock table dogged.schema_migrations in share update exclusive mode
