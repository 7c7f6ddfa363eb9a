-- Exports the dead letters $1 that failed in the attempts $2, each as a line of JSON.
select e.id, e.attempt, e.letter from dogged.export_dead_letters($1::bigint[], $2::int[]) e
