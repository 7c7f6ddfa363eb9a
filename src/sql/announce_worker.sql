-- A worker has registered: others look when its lease may lapse, and whether it declares their tasks differently.
select pg_notify('dogged.workers', '')
