-- Creates partitions for one week of history.
-- gives: nothing
select count(dogged.make_partition(parent, ((now() at time zone 'UTC')::date - days_ago))) as made
  from unnest(array['task_attempts', 'tasks_done']) as parent, generate_series(0, 7) as days_ago
