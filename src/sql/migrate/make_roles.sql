-- Creates the roles whose names begin with @prefix (null: the previous prefix), and grants them their rights.
-- gives: name text
select unnest(dogged.make_roles(@prefix::text?)) as name
