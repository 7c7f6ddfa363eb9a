-- Says which schedules the program of worker @worker_id declares: the JSON object @declarations, with their settings by
-- name. in_force: the declaration that counts, with redacted args. others: how many live workers declare the schedule
-- otherwise.
-- gives: name text, outcome text, in_force text, others bigint
select name, outcome, in_force::text as in_force, others from dogged.declare_schedules(@worker_id::bigint, @declarations::jsonb)
