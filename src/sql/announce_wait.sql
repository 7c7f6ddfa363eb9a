-- Tells the workers that somebody waits for the end of task $1: whoever ends it notifies (notify_ended.sql).
select pg_notify('dogged.waiting', $1::bigint::text)
