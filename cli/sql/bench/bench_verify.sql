-- Checks the tasks with ids from $1 to $2 and their attempts. Each task should have $3 + 1 attempts: retried failures,
-- and one success.
select (select count(*) from dogged.tasks where id between $1::bigint and $2::bigint and status = 'succeeded') as succeeded,
       (select count(*) from dogged.tasks where id between $1::bigint and $2::bigint) as there,
       (select count(*) from dogged.task_attempts where task_id between $1::bigint and $2::bigint) as attempts,
       (select count(*)
          from (select from dogged.task_attempts
                 where task_id between $1::bigint and $2::bigint
                 group by task_id
                having array_agg(attempt order by attempt)
                         <> array(select generate_series(1, $3::int + 1))
                    or count(*) filter (where outcome = 'succeeded') <> 1) wrong) as with_wrong_attempts
