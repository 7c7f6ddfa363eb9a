-- Checks the tasks with ids from @first_id to @last_id and their attempts. Each task should have @failures + 1
-- attempts: retried failures, and one success.
-- gives: succeeded bigint, there bigint, attempts bigint, with_wrong_attempts bigint
select (select count(*) from dogged.tasks where id between @first_id::bigint and @last_id::bigint and status = 'succeeded') as succeeded,
       (select count(*) from dogged.tasks where id between @first_id::bigint and @last_id::bigint) as there,
       (select count(*) from dogged.task_attempts where task_id between @first_id::bigint and @last_id::bigint) as attempts,
       (select count(*)
          from (select from dogged.task_attempts
                 where task_id between @first_id::bigint and @last_id::bigint
                 group by task_id
                having array_agg(attempt order by attempt)
                         <> array(select generate_series(1, @failures::int + 1))
                    or count(*) filter (where outcome = 'succeeded') <> 1) wrong) as with_wrong_attempts
