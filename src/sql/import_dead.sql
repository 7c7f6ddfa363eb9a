-- Puts the dead letters $1 back, which are JSON as export_dead.sql gives it.
select i.place, i.id, i.result from dogged.import_dead_letters($1::jsonb[]) i order by i.place
