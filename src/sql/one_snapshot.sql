-- First in a transaction whose statements shall see one state of the database.
set transaction isolation level repeatable read read only
