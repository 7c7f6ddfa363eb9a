-- Adds @count tasks that succeeded in the last seven days, with their attempts.
-- gives: nothing
with added as (
  insert into dogged.tasks (status, queue, name, args, enqueued_at, run_at, attempt, worker_id, claimed_at, finished_at)
  select 'succeeded', 'bench', 'bench', jsonb_build_object('history', i), at, at, 1, 0, at, at + interval '5 ms'
    from generate_series(1, @count::bigint) as i
   cross join lateral (select now() - interval '7 days' * i / @count::bigint) as t (at)
  returning id, finished_at, claimed_at
)
insert into dogged.task_attempts (task_id, attempt, name, queue, outcome, worker_id, claimed_at, started_at, finished_at,
                                  will_retry)
select id, 1, 'bench', 'bench', 'succeeded', 0, claimed_at, claimed_at, finished_at, false
  from added
