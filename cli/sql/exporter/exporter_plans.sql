-- Before each statement that reads for the exporter, in its transaction. Workers' statements are planned by indexes, once.
-- The exporter's statements read whole small tables, and only the days that their values name. Groups are hashed, because
-- PostgreSQL takes 2 million attempts for half a million groups: it sorted the attempts, in 2.9 s instead of 0.8. The next
-- statement has @timeout_ms, and @lock_timeout_ms of that time for a lock.
-- gives: seqscan text, sort text, plans text, timeout text, lock_timeout text
select set_config('enable_seqscan', 'on', true) as seqscan, set_config('enable_sort', 'off', true) as sort,
       set_config('plan_cache_mode', 'force_custom_plan', true) as plans,
       set_config('statement_timeout', @timeout_ms::text, true) as timeout, set_config('lock_timeout', @lock_timeout_ms::text, true) as lock_timeout
