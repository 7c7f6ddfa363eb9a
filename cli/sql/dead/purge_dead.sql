-- Deletes the dead letters $1 that failed in the attempts $2.
select p.id, p.result from dogged.purge_many($1::bigint[], $2::int[]) p
