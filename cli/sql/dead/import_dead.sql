-- Imports the dead letters @letters, in the JSON of export_dead.sql.
-- gives: place bigint, id bigint?, result text
select i.place, i.id, i.result from dogged.import_dead_letters(@letters::jsonb[]) i order by i.place
