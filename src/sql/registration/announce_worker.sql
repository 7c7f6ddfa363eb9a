-- Announces that a worker has registered. Other workers then check when its lease may lapse, and whether it declares
-- their tasks differently.
-- gives: nothing
select pg_notify('dogged.workers', '')
