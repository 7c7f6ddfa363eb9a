-- How long attempts are kept, and every policy that tasks may wait by; no policy where no task is declared.
select s.keep_attempts_days, d.name, d.retry_policy::text as retry_policy
  from dogged.settings s
  left join dogged.task_definitions d on true
 order by d.name
