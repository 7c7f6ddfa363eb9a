-- Makes the roles whose names begin with $1, or as before where it is null, and grants them their rights.
select unnest(dogged.make_roles($1)) as name
