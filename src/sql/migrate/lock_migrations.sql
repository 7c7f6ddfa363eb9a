-- Allows one migrator at a time for this schema, until the transaction ends; readers do not wait. It is not an advisory
-- lock, because any session that may connect could take one. This lock needs the right to change the table.
-- gives: nothing
lock table dogged.schema_migrations in share update exclusive mode
