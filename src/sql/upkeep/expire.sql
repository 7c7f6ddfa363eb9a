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
)
select e.id, e.name, e.queue from dogged.end_expired(array(select id from due)) e
