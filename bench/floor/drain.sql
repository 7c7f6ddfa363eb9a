-- pgbench: what a drain of 1000 tasks writes, and no more. The first statement changes what a claim does, the second what
-- a completion does; each commits by itself, as with a worker. Nothing is looked for, and nothing is checked.
-- :n is how many batches this client has done; the clients take turns.
\set first (:n * :clients + :client_id) * 1000 + 1
\set last :first + 999
\set n :n + 1
update floor.tasks_live
   set status = 'running', attempt = 1, worker_id = 1, claimed_at = clock_timestamp()
 where id between :first::bigint and :last::bigint;
with removed as (
  delete from floor.tasks_live where id between :first::bigint and :last::bigint
), finished as (
  insert into floor.tasks_done (id, status, queue, name, args, attempt, worker_id, claimed_at, finished_at)
  select id, 'succeeded', 'bench', 'bench', '{}', 1, 1, now(), now()
    from generate_series(:first::bigint, :last::bigint) id
)
insert into floor.task_attempts (task_id, attempt, name, queue, outcome, worker_id, claimed_at, started_at, finished_at,
                                 will_retry)
select id, 1, 'bench', 'bench', 'succeeded', 1, now(), now(), now(), false
  from generate_series(:first::bigint, :last::bigint) id;
