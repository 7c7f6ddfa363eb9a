-- Settings of the server that decide whether a commit lasts, how full it is, and its clock.
select current_setting('fsync')::boolean as has_fsync, current_setting('full_page_writes')::boolean as has_full_page_writes,
       current_setting('synchronous_commit') as synchronous_commit,
       current_setting('max_connections')::bigint as max_connections,
       (select sum(numbackends)::bigint from pg_stat_database) as connections,
       (select age(datfrozenxid)::bigint from pg_database where datname = current_database()) as oldest_transaction,
       (extract(epoch from clock_timestamp()) * 1000000)::bigint as now_us
