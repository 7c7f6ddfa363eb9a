-- A history to measure on: :tasks finished tasks over 30 days, a tenth as many dead letters, and their attempts. Also 10,000 live
-- tasks in 5 queues, and 20 workers. For psql, in a schema that `dogged migrate` has just made.
select count(dogged.make_partition(c.relname, (now() at time zone 'UTC')::date - day))
  from pg_partitioned_table p join pg_class c on c.oid = p.partrelid, generate_series(1, 31) day
 where p.partstrat = 'r' and c.relnamespace = 'dogged'::regnamespace \g /dev/null
insert into dogged.queues (name) select 'queue' || i from generate_series(0, 4) i;
insert into dogged.task_definitions (name, queue, retry_policy, auto_retry_for, retry_lost, dead_letter, max_losses, version,
                                     redact)
select 'task' || i, 'queue' || i % 5, '{"policy": "none"}', '{}', true, true, 3, '1', '{/token}' from generate_series(0, 19) i;
insert into dogged.workers (name, host, pid, version, queues, task_names, lease_until)
select 'worker' || i, 'host', i, '1', '{"queue0": 5, "queue1": 5, "queue2": 5, "queue3": 5, "queue4": 5}',
       array(select name from dogged.task_definitions), now() + interval '1 day'
  from generate_series(1, 20) i;

-- The tasks end evenly over 30 days. Every tenth task was retried once.
insert into dogged.tasks (id, status, queue, name, args, enqueued_at, run_at, attempt, retry_count, worker_id, claimed_at,
                          finished_at)
select i, 'succeeded', 'queue' || i % 5, 'task' || i % 20,
       jsonb_build_object('url', 'https://example.com/hooks/' || i, 'token', md5(i::text), 'body', repeat('x', 100)),
       at - interval '2 s', at - interval '2 s', 1 + (i % 10 = 0)::int, (i % 10 = 0)::int, 1 + i % 20,
       at - interval '1 s', at
  from generate_series(1, :tasks) i, lateral (select now() - (:tasks - i) * (interval '30 days' / :tasks) as at) moment;
insert into dogged.task_attempts (task_id, attempt, name, queue, outcome, worker_id, claimed_at, started_at, finished_at,
                                  error_code, error_message, will_retry, next_retry_at, delay_ms)
select i, attempt, 'task' || i % 20, 'queue' || i % 5, case when retried then 'failed' else 'succeeded' end::dogged.attempt_outcome,
       1 + i % 20, at - interval '1 s', at - interval '0.9 s', at, case when retried then 'HTTP_50' || i % 7 end,
       case when retried then 'the server answered with an error' end, retried, case when retried then at + interval '2 s' end,
       case when retried then 2000 end
  from generate_series(1, :tasks) i
 cross join lateral generate_series(1, 1 + (i % 10 = 0)::int) attempt
 cross join lateral (select i % 10 = 0 and attempt = 1 as retried) which
 cross join lateral (select now() - (:tasks - i) * (interval '30 days' / :tasks) - retried::int * interval '3 s' as at) moment;
-- Dead letters: two attempts each.
insert into dogged.tasks (id, status, queue, name, args, enqueued_at, run_at, attempt, retry_count, worker_id, claimed_at,
                          finished_at, error_code, error_message)
select :tasks + i, 'failed', 'queue' || i % 5, 'task' || i % 20,
       jsonb_build_object('url', 'https://example.com/hooks/' || i, 'token', md5(i::text), 'body', repeat('x', 100)),
       at - interval '5 s', at - interval '5 s', 2, 1, 1 + i % 20, at - interval '1 s', at, 'HTTP_50' || i % 7,
       'the server answered with an error'
  from generate_series(1, :tasks / 10) i,
       lateral (select now() - (:tasks / 10 - i) * (interval '300 days' / :tasks) as at) moment;
insert into dogged.task_attempts (task_id, attempt, name, queue, outcome, worker_id, claimed_at, started_at, finished_at,
                                  error_code, error_message, error_details, will_retry, next_retry_at, delay_ms)
select :tasks + i, attempt, 'task' || i % 20, 'queue' || i % 5, 'failed', 1 + i % 20, at - interval '1 s', at - interval '0.9 s',
       at, 'HTTP_50' || i % 7, 'the server answered with an error', '{"status": 500}', attempt = 1,
       case when attempt = 1 then at + interval '2 s' end, case when attempt = 1 then 2000 end
  from generate_series(1, :tasks / 10) i, generate_series(1, 2) attempt,
       lateral (select now() - (:tasks / 10 - i) * (interval '300 days' / :tasks) - (2 - attempt) * interval '3 s' as at) moment;
select setval('dogged.tasks_id_seq', :tasks + :tasks / 10) \g /dev/null
select count(dogged.enqueue('task' || i % 20, run_at => case when i % 2 = 0 then now() + interval '1 hour' end))
  from generate_series(1, 10000) i \g /dev/null
with held as (
  update dogged.tasks_live set status = 'running', attempt = 1, worker_id = 1 + id % 20, claimed_at = now()
   where id = any (array(select id from dogged.tasks_live where not deferred limit 200)) returning id, worker_id)
insert into dogged.claims (worker_id, task_ids) select worker_id, array_agg(id) from held group by worker_id;
vacuum analyze;
