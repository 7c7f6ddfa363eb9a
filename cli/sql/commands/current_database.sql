-- The name of the database that the command is connected to.
-- gives: name text
select current_database()::text as name
