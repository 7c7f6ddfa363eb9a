-- Whether there is a circuit of this name, locked or not.
-- gives: found boolean
select exists (select from dogged.circuits where name = @name::text) as found
