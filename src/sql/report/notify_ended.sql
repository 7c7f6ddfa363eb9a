-- Notifies waiting clients that the tasks $1 have ended.
select pg_notify('dogged.ended', ended.id::text) from unnest($1::bigint[]) as ended (id)
