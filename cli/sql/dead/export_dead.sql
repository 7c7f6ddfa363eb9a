-- Exports the dead letters @ids that failed in the attempts @attempts, each as a line of JSON.
-- gives: id bigint, attempt int, letter jsonb
select e.id, e.attempt, e.letter from dogged.export_dead_letters(@ids::bigint[], @attempts::int[]) e
