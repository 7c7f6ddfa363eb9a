-- The sessions that have locked a row of dogged.locks, or the lock of migrations (lock_migrations.sql). Each lock is
-- for work that only one session may do at a time.
-- held_us: since the session's transaction began, null if this login may not see the session. waited_us: the longest wait
-- of a session for this lock, null if none waits.
-- gives: name text, pid bigint, user_name text, application text, held_us bigint?, waited_us bigint?
with held as (
  select l.name, k.pid
    from dogged.locks l
    join pg_locks k on k.locktype = 'transactionid' and k.transactionid = l.xmax and k.mode = 'ExclusiveLock' and k.granted
   union all
  select 'migrations', k.pid
    from pg_locks k
   where k.locktype = 'relation' and k.relation = 'dogged.schema_migrations'::regclass
     and k.database = (select d.oid from pg_database d where d.datname = current_database())
     and k.mode = 'ShareUpdateExclusiveLock' and k.granted
)
select h.name, h.pid, coalesce(a.usename::text, '') as user_name, coalesce(a.application_name, '') as application,
       (extract(epoch from clock_timestamp() - a.xact_start) * 1000000)::bigint as held_us,
       (select (extract(epoch from clock_timestamp() - min(w.query_start)) * 1000000)::bigint
          from pg_stat_activity w where h.pid = any (pg_blocking_pids(w.pid))) as waited_us
  from held h
  join pg_stat_activity a on a.pid = h.pid
 where coalesce(a.backend_type, '') <> 'autovacuum worker'
 order by h.name, h.pid
