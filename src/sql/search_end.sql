-- How far list_tasks.sql has looked when it did not fill its page: the task of which $5 were looked through, this one
-- included, if there are more; with $1 to $4 as there. No row: it has looked through all.
select s.id
  from dogged.tasks s
 where ($1::dogged.task_status[] is null or s.status = any ($1::dogged.task_status[]))
   and ($2::timestamptz is null or s.finished_at is null or s.finished_at >= $2::timestamptz)
   and ($3::bigint is null or s.id >= $3::bigint)
   and ($4::bigint is null or s.id < $4::bigint)
 order by s.id desc
offset $5::bigint - 1
 limit 1
