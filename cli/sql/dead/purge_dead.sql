-- Deletes the dead letters @ids that failed in the attempts @attempts.
-- gives: id bigint, result text
select p.id, p.result from dogged.purge_many(@ids::bigint[], @attempts::int[]) p
