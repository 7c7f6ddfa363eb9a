-- Counts the outcomes of the attempts of worker @worker_id that ended in the last @last_ms milliseconds. The query
-- reads only the days in that time.
-- gives: outcome dogged.attempt_outcome, attempts bigint
select a.outcome, count(*) as attempts
  from dogged.task_attempts a
 where a.finished_at >= now() - @last_ms::bigint * interval '1 millisecond' and a.worker_id = @worker_id::bigint
 group by a.outcome
 order by a.outcome
