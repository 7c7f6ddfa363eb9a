-- The days of kept attempts with rows whose task is neither a dead letter nor pending or running any more.
select day::text as day from dogged.kept_days_to_thin() as day order by day
