-- Sessions and slots that keep vacuum from removing dead rows, or that hold locks: open transactions, prepared
-- transactions, standbys, replication slots.
-- gives: kind text, name text, user_name text?, application text?, state text?, query text?, transactions bigint?
-- gives: held_us bigint?, wal_bytes bigint?
select case a.backend_type when 'walsender' then 'standby' else 'session' end as kind, a.pid::text as name,
       a.usename::text as user_name, a.application_name as application, a.state, left(a.query, 60) as query,
       age(coalesce(a.backend_xmin, a.backend_xid))::bigint as transactions,
       (extract(epoch from clock_timestamp() - a.xact_start) * 1000000)::bigint as held_us, null::bigint as wal_bytes
  from pg_stat_activity a
 where a.pid <> pg_backend_pid() and (a.backend_xmin is not null or a.xact_start is not null)
   and coalesce(a.backend_type, '') <> 'autovacuum worker'
   and (a.datname = current_database() or a.backend_type = 'walsender')
union all
select 'prepared', p.gid, p.owner::text, null, null, null, age(p.transaction)::bigint,
       (extract(epoch from clock_timestamp() - p.prepared) * 1000000)::bigint, null
  from pg_prepared_xacts p
 where p.database = current_database()
union all
select 'slot', s.slot_name::text, null, null, case when s.active then 'active' else 'inactive' end, null,
       age(s.xmin)::bigint, null,
       case when not pg_is_in_recovery() then pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn)::bigint end
  from pg_replication_slots s
union all
select 'hidden', count(*)::text, null, null, null, null, null, null, null
  from pg_stat_activity a
 where a.query = '<insufficient privilege>'
   and (a.datid is not null or a.pid in (select r.pid from pg_stat_replication r))  -- not PostgreSQL's own processes
having count(*) > 0
