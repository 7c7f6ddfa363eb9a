-- Enqueues the task of schedule @name now.
-- gives: id bigint
select dogged.run_schedule(@name::text) as id
