-- The first statement of a transaction whose statements must all see the same state of the database.
-- gives: nothing
set transaction isolation level repeatable read read only
