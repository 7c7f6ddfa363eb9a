-- The server's version and the settings that decide how fast the server is. Also whether the client may request a
-- checkpoint, and whether the server runs on the client's machine.
-- gives: name text, value text?
select name, current_setting(name) as value
  from unnest(array['fsync', 'synchronous_commit', 'full_page_writes', 'wal_level', 'wal_compression', 'shared_buffers',
                    'max_wal_size', 'checkpoint_timeout', 'autovacuum', 'jit', 'debug_assertions', 'log_statement',
                    'log_min_duration_statement', 'server_version']) as name
union all
select 'may_checkpoint', pg_has_role('pg_checkpoint', 'usage')::text
union all
select 'is_on_this_machine',
       (coalesce(inet_server_addr() = inet_client_addr(), true))::text
