-- How the attempts of worker $1 ended that ended in the last $2 milliseconds. Only the days of these are read.
select a.outcome, count(*) as attempts
  from dogged.task_attempts a
 where a.finished_at >= now() - $2::bigint * interval '1 millisecond' and a.worker_id = $1::bigint
 group by a.outcome
 order by a.outcome
