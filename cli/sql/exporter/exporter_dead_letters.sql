-- Counts a slice of the dead letters by task and error code: of those whose tasks ended after @after_us the @rows first ones.
-- All that ended in the same microsecond as the last of them are in the slice. end_us: when the last of them ended. Nothing
-- if no dead letters follow. The @most largest counts have their code, at most @most_codes of a task. The other codes of
-- a task are summed as `other`. All but the @most tasks with the most dead letters are summed as task `other`.
-- gives: name text, error_code text?, letters bigint, end_us bigint?
with counted as (
  select s.name, s.error_code, count(*) as letters, max(s.finished_at) as ended_at
    from (select f.name, f.error_code, f.finished_at
            from dogged.tasks_failed f
           where f.finished_at > to_timestamp(@after_us::bigint / 1000000.0)
           order by f.finished_at
           fetch first (@rows::bigint) rows with ties) as s
   group by 1, 2
), of_tasks as (
  select c.*, sum(c.letters) over (partition by c.name) as of_task,
         row_number() over (partition by c.name order by c.letters desc, c.error_code) <= @most_codes::bigint as is_among_codes
    from counted c
), placed as (
  select t.*, dense_rank() over (order by t.of_task desc, t.name) <= @most::bigint as is_task_named,
         t.is_among_codes and row_number() over (order by t.is_among_codes desc, t.letters desc, t.name, t.error_code) <= @most as is_named
    from of_tasks t
)
select case when p.is_task_named then p.name else 'other' end as name,
       case when p.is_task_named and p.is_named then p.error_code else 'other' end as error_code, sum(p.letters)::bigint as letters,
       (select case when sum(c.letters) >= @rows then (extract(epoch from max(c.ended_at)) * 1000000)::bigint end from counted c) as end_us
  from placed p
 group by 1, 2
