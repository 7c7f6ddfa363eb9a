-- Ends pending tasks that nobody has started before their expires_at, whoever serves their queue: up to 1000, those whose
-- time was over first. It looks back for $1 milliseconds, or, if that is null, for ever: before that stand the index entries
-- of tasks that have ended, dead but not yet removed while an old snapshot is held. error_code and error_message stay those of the last attempt that failed. What is locked is being
-- claimed, cancelled or changed by someone else.
with due as materialized (
  select t.id
    from dogged.tasks_live t
   where t.expires_at <= now() and t.expires_at > coalesce(now() - $1::bigint * interval '1 millisecond', '-infinity')
     and t.status = 'pending'
   order by t.expires_at
   limit 1000
     for update skip locked
), removed as (
  delete from dogged.tasks_live t where t.id = any (array(select id from due)) returning t.*
)
insert into dogged.tasks (id, status, queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses,
                          worker_id, claimed_at, finished_at, error_code, error_message, trace_context,
                          cancel_requested_at, expires_at, tags)
select id, 'expired', queue, name, priority, args, enqueued_at, run_at, attempt, retry_count, losses, worker_id,
       claimed_at, clock_timestamp(), error_code, error_message, trace_context, cancel_requested_at, expires_at, tags
  from removed
returning id, name, queue
