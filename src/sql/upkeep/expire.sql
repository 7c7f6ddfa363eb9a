-- Ends pending tasks that no worker started before their expires_at, in any queue: up to 1000, those that expired
-- first. The statement looks back for @back_ms milliseconds (null: without limit). Older index entries belong to tasks
-- that have ended. Such entries are dead, but cannot be removed while an old snapshot is held. error_code and
-- error_message keep the values of the last failed attempt. Locked rows are skipped: another transaction is claiming,
-- cancelling or changing them.
-- gives: id bigint, name text, queue text
with due as materialized (
  select t.id
    from dogged.tasks_live t
   where t.expires_at <= now()
     and t.expires_at > coalesce(now() - @back_ms::bigint? * interval '1 millisecond', '-infinity')
     and t.status = 'pending'
   order by t.expires_at
   limit 1000
     for update skip locked
), removed as (
  delete from dogged.tasks_live t where t.id = any (array(select id from due)) returning t.*
)
insert into dogged.tasks_done (id, status, queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses,
                          worker_id, claimed_at, finished_at, error_code, error_message, trace_context,
                          cancel_requested_at, expires_at, tags, parent_id, args_version, snoozes, unique_key)
select id, 'expired', queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses, worker_id,
       claimed_at, clock_timestamp(), error_code, error_message, trace_context, cancel_requested_at, expires_at, tags,
       parent_id, args_version, snoozes, unique_key
  from removed
returning id, name, queue
