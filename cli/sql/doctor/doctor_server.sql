-- Server settings that decide whether a commit is durable, and how full the server is.
-- gives: has_fsync boolean, has_full_page_writes boolean, synchronous_commit text, max_connections bigint
-- gives: connections bigint, oldest_transaction bigint
select current_setting('fsync')::boolean as has_fsync, current_setting('full_page_writes')::boolean as has_full_page_writes,
       current_setting('synchronous_commit') as synchronous_commit,
       current_setting('max_connections')::bigint as max_connections,
       (select sum(numbackends)::bigint from pg_stat_database) as connections,
       (select age(datfrozenxid)::bigint from pg_database where datname = current_database()) as oldest_transaction
