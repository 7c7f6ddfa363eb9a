-- The time of the schedule's tick that enqueued task @task_id, in microseconds since 1970; no row if none did.
-- gives: scheduled_us bigint
select (extract(epoch from scheduled_at) * 1000000)::bigint as scheduled_us
  from dogged.schedule_ticks
 where task_id = @task_id::bigint
