-- Counts the outcomes of the attempts of worker $1 that ended in the last $2 milliseconds. The query reads only the
-- days in that time.
select a.outcome, count(*) as attempts
  from dogged.task_attempts a
 where a.finished_at >= now() - $2::bigint * interval '1 millisecond' and a.worker_id = $1::bigint
 group by a.outcome
 order by a.outcome
