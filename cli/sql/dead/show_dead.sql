-- The details that `dogged dead show` adds to the history of task @task_id, if it is a dead letter. Args are redacted.
-- gives: args jsonb, pretty_args text, pretty_details text?, error_details jsonb?, failed_at_us bigint
select f.args::text as args, jsonb_pretty(f.args) as pretty_args,
       jsonb_pretty(h.error_details) as pretty_details, h.error_details::text as error_details,
       (extract(epoch from f.finished_at) * 1000000)::bigint as failed_at_us
  from dogged.redacted_tasks f
  left join lateral (select a.error_details from dogged.task_attempts a
                      where a.task_id = f.id and a.attempt = f.attempt limit 1) h on true
 where f.id = @task_id::bigint and f.status = 'failed'
