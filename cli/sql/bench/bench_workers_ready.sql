-- The number of workers that are registered and have fallen asleep because they found nothing to do.
-- gives: working bigint, asleep bigint
select count(*) as working, count(*) filter (where asleep) as asleep
  from dogged.workers
 where stopped_at is null and lease_ended_at is null
