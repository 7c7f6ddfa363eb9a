-- Where the search of list_tasks.sql ended when it did not fill its page: the last of the @searched tasks that it
-- searched. @partition_statuses to @below_id are as there. No row: it has searched all tasks.
-- gives: id bigint
select s.id
  from dogged.tasks s
 where (@partition_statuses::dogged.task_status[]? is null or s.status = any (@partition_statuses))
   and (@ended_since::timestamptz? is null or s.finished_at is null or s.finished_at >= @ended_since)
   and (@from_id::bigint? is null or s.id >= @from_id)
   and (@below_id::bigint? is null or s.id < @below_id)
 order by s.id desc
offset @searched::bigint - 1
 limit 1
