-- Creates the roles whose names begin with $1 (null: the previous prefix), and grants them their rights.
select unnest(dogged.make_roles($1)) as name
