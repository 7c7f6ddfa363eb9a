-- Imports the dead letters $1, in the JSON of export_dead.sql.
select i.place, i.id, i.result from dogged.import_dead_letters($1::jsonb[]) i order by i.place
