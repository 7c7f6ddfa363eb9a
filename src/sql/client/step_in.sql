-- Records the step @name in the handler's own transaction.
-- gives: nothing
select dogged.step_in(@task_id::bigint, @attempt::int, @worker_id::bigint, @name::text, @result::jsonb, @began_us_ago::bigint)
