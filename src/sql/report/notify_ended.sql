-- Notifies waiting clients that the tasks @ids have ended.
-- gives: nothing
select pg_notify('dogged.ended', ended.id::text) from unnest(@ids::bigint[]) as ended (id)
