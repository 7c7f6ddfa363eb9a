-- How many workers are registered and, having found nothing to do, asleep.
select count(*) as working, count(*) filter (where asleep) as asleep
  from dogged.workers
 where stopped_at is null and lease_ended_at is null
