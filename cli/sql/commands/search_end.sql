-- Where the search of list_tasks.sql ended when it did not fill its page: the last of the $5 tasks that it searched. $1
-- to $4 are as there. No row: it has searched all tasks.
select s.id
  from dogged.tasks s
 where ($1::dogged.task_status[] is null or s.status = any ($1::dogged.task_status[]))
   and ($2::timestamptz is null or s.finished_at is null or s.finished_at >= $2::timestamptz)
   and ($3::bigint is null or s.id >= $3::bigint)
   and ($4::bigint is null or s.id < $4::bigint)
 order by s.id desc
offset $5::bigint - 1
 limit 1
